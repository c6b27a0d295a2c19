// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
)

const (
	// startTimeout bounds a start on a busy machine. It is not for a build: the first thing done is to build.
	startTimeout = 3 * time.Minute
	// soon bounds what controllers do; it takes a second or two on an idle machine.
	soon = 3 * time.Minute
	// often is how often it is looked at.
	often = 50 * time.Millisecond
)

// one and other are clusters side by side, for the tests that leave them as they are.
var one, other *Cluster

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		os.Exit(victim())
	}
	code := 1
	err := startShared()
	if err == nil {
		code = m.Run()
		err = errors.Join(one.Stop(), other.Stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startShared() error {
	ctx := context.Background() //nolint:forbidigo // there is no test yet that could lend its own
	if _, err := Binary(ctx, os.Stderr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*startTimeout)
	defer cancel()
	var starts errgroup.Group
	starts.Go(func() (err error) {
		one, err = Start(ctx, Options{})
		return err
	})
	starts.Go(func() (err error) {
		other, err = Start(ctx, Options{
			FeatureGates:  []string{"CoordinatedLeaderElection=true"},
			RuntimeConfig: []string{"coordination.k8s.io/v1beta1=true"},
		})
		return err
	})
	return starts.Wait()
}

// start starts a cluster of a test's own, which ends with the test at the latest.
func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() }) // a test that cares how it ends stops it itself
	return c
}

func client(t *testing.T, c *Cluster) *kubernetes.Clientset {
	t.Helper()
	config, err := c.RestConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kubectl runs the cluster's kubectl as its administrator and returns what it says and its exit code.
func kubectl(t *testing.T, c *Cluster, args ...string) (string, int) {
	t.Helper()
	return kubectlInput(t, c, "", args...)
}

// kubectlInput is kubectl with something on standard input.
func kubectlInput(t *testing.T, c *Cluster, stdin string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run kubectl %s: %v", strings.Join(args, " "), err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// processes returns the ids of all processes of a started cluster.
func processes(t *testing.T, c *Cluster) []int {
	t.Helper()
	now := c.control.latest()
	pids := []int{now.PID}
	for _, pid := range now.Components {
		pids = append(pids, pid)
	}
	if len(pids) != 4 {
		t.Fatalf("the supervisor %d has the components %v, want three", now.PID, now.Components)
	}
	return pids
}

// running returns those of the processes that have not ended.
func running(pids []int) []int {
	var found []int
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil && !isZombie(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// isZombie reports whether a process has ended and nobody has asked how: where a container has no init
// process, nobody asks for those whose parent was killed.
func isZombie(pid int) bool { return processState(fmt.Sprintf("/proc/%d/stat", pid)) == "Z" }

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
