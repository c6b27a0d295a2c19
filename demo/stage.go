// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	// leaveTimeout bounds the clean-up, which goes on after an interrupt.
	leaveTimeout = 3 * time.Minute
	// stopTimeout bounds how long namespaces may take to go; the API server goes by
	// a policy that is gone for a moment.
	stopTimeout = 90 * time.Second
	// localNamespace is the story's on a local cluster.
	localNamespace = "shop"
)

// stage is a cluster with Holdfast on it, and the commands to play with it.
type stage struct {
	cluster *cluster.Cluster
	// mine is set once an existing cluster is known to have nothing of what is
	// made here, so that all of it can be taken away again.
	mine bool
	// theirTrees says what an existing cluster has of trees of namespaces.
	theirTrees string
	manager    *manager.Process
	// sync is the process that syncs RootSyncs.
	sync   *manager.Process
	nodes  *playedNodes
	binary string
	root   string
	// namespace of the story, which the story makes.
	namespace string
	// bin is a folder with kubectl and kubectl-holdfast.
	bin string
	dir string
}

// newStage builds what is needed and starts a cluster, or takes that of a
// kubeconfig if it has no Holdfast; it installs nothing. In dir everything is kept
// that must outlast a restart of the manager. A stage is to be left, even one
// that comes with an error.
func newStage(ctx context.Context, dir, kubeconfig string, progress io.Writer) (*stage, error) {
	s := &stage{dir: dir, namespace: localNamespace}
	var err error
	if s.root, err = cluster.ModuleRoot(); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "Building Holdfast ...")
	if s.binary, err = manager.Build(ctx, "holdfast-manager", false, progress); err != nil {
		return nil, err
	}
	plugin, err := manager.Build(ctx, "kubectl-holdfast", false, progress)
	if err != nil {
		return nil, err
	}
	if kubeconfig != "" {
		fmt.Fprintln(progress, "Using the cluster of", kubeconfig)
		err = s.take(ctx, kubeconfig)
	} else {
		fmt.Fprintln(progress, "Starting a local control plane ...")
		s.cluster, err = cluster.Start(ctx, cluster.Options{Dir: filepath.Join(dir, "cluster"), Progress: progress})
	}
	if err != nil {
		return nil, err
	}
	return s, s.link(plugin)
}

// take makes an existing cluster the stage, unless there is something on it that
// the story would change and the end take away.
func (s *stage) take(ctx context.Context, kubeconfig string) (err error) {
	if s.cluster, err = cluster.FromKubeconfig(kubeconfig); err != nil {
		return err
	}
	if err := manager.RefuseInstalled(ctx, s.cluster); err != nil {
		return err
	}
	s.namespace = "holdfast-demo-" + utilrand.String(8)
	found, err := manager.Kubectl(ctx, s.cluster, "get", "namespace", s.namespace, "--ignore-not-found", "-o", "name")
	if err != nil {
		return err
	}
	if found != "" {
		return fmt.Errorf("the cluster of %s has a %s already, which the story would make: run the demo again, for another name", kubeconfig, strings.TrimSpace(found))
	}
	if s.theirTrees, err = treesOf(ctx, s.cluster); err != nil {
		return err
	}
	s.mine = true
	return nil
}

// place is where the story is told.
func (s *stage) place() place {
	return place{namespace: s.namespace, local: !s.mine, dir: s.dir, theirTrees: s.theirTrees}
}

// link fills the folder with the commands.
func (s *stage) link(plugin string) error {
	s.bin = filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(s.bin, 0o755); err != nil {
		return fmt.Errorf("make folder for commands: %w", err)
	}
	for name, target := range map[string]string{
		"kubectl":          s.cluster.Kubectl,
		"kubectl-holdfast": plugin, "kubectl_complete-holdfast": plugin,
		"kubectl-hns": plugin, "kubectl_complete-hns": plugin,
	} {
		link := filepath.Join(s.bin, name)
		_ = os.Remove(link) // from an earlier run
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// startManager runs Holdfast's manager as a process of this machine. One that ran
// before it is followed at its address.
func (s *stage) startManager(ctx context.Context) error {
	if err := manager.AwaitServed(ctx, s.cluster, "config/crd"); err != nil { // or it ends again
		return err
	}
	o := manager.Options{Binary: s.binary, Dir: s.dir}
	if s.manager != nil {
		o.Webhooks = s.manager.Webhooks
	}
	started, err := manager.Start(ctx, s.cluster, o)
	if err == nil {
		s.manager = started
	}
	return err
}

// environment is one in which kubectl is the stage's and speaks to its cluster.
func (s *stage) environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+s.cluster.Kubeconfig,
		"PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// kubectl runs kubectl and returns all that it said, with its exit code.
func (s *stage) kubectl(ctx context.Context, stdin string, args ...string) (said string, code int, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "kubectl"), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.root, s.environment(), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", 0, fmt.Errorf("run kubectl: %w", err)
	}
	return strings.TrimRight(string(out), "\n"), cmd.ProcessState.ExitCode(), nil
}

// leave ends everything that was started here, also after an interrupt. From an
// existing cluster it takes away what was made.
func (s *stage) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	var errs []error
	if s.nodes != nil {
		errs = append(errs, s.nodes.stop())
	}
	for _, p := range []*manager.Process{s.sync, s.manager} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if s.mine {
		errs = append(errs, s.takeAway(ctx))
	}
	if err := errors.Join(append(errs, s.cluster.Stop())...); err != nil {
		return fmt.Errorf("%w: %w", errLeave, err)
	}
	return nil
}
