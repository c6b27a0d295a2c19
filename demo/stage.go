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

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// kubeconfigVariable names an existing cluster to use instead of a local one.
const kubeconfigVariable = "HOLDFAST_KUBECONFIG"

// stage is a cluster with Holdfast on it, and the commands to play with it.
type stage struct {
	cluster *cluster.Cluster
	local   bool
	manager *manager.Process
	binary  string
	root    string
	// bin is a folder with kubectl and kubectl-holdfast.
	bin string
	dir string
}

// newStage builds what is needed and starts a cluster; it installs nothing. In
// dir everything is kept that must outlast a restart of the manager.
func newStage(ctx context.Context, dir string, progress io.Writer) (*stage, error) {
	s := &stage{dir: dir}
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
	if path := os.Getenv(kubeconfigVariable); path != "" {
		fmt.Fprintln(progress, "Using the cluster of", path)
		s.cluster, err = cluster.FromKubeconfig(path)
	} else {
		s.local = true
		fmt.Fprintln(progress, "Starting a local control plane ...")
		s.cluster, err = cluster.Start(ctx, cluster.Options{Dir: filepath.Join(dir, "cluster"), Progress: progress})
	}
	if err != nil {
		return nil, err
	}
	return s, s.link(plugin)
}

// link fills the folder with the commands.
func (s *stage) link(plugin string) error {
	s.bin = filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(s.bin, 0o755); err != nil {
		return fmt.Errorf("make folder for commands: %w", err)
	}
	for name, target := range map[string]string{
		"kubectl": s.cluster.Kubectl, "kubectl-holdfast": plugin, "kubectl_complete-holdfast": plugin,
	} {
		link := filepath.Join(s.bin, name)
		_ = os.Remove(link) // from an earlier run
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// startManager runs Holdfast's manager as a process of this machine.
func (s *stage) startManager(ctx context.Context) (err error) {
	s.manager, err = manager.Start(ctx, s.cluster, manager.Options{Binary: s.binary, Dir: s.dir})
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

// close ends everything that was started here.
func (s *stage) close() error {
	var errs []error
	if s.manager != nil {
		errs = append(errs, s.manager.Stop())
	}
	errs = append(errs, s.cluster.Stop())
	return errors.Join(errs...)
}
