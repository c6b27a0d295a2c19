// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Output is what a command said.
type Output struct {
	Stdout, Stderr string
	Code           int
}

// Kubectl runs the real kubectl as an administrator.
func (e *Env) Kubectl(t testing.TB, args ...string) Output {
	t.Helper()
	return e.KubectlInput(t, "", args...)
}

// KubectlInput is Kubectl with something on standard input.
func (e *Env) KubectlInput(t testing.TB, stdin string, args ...string) Output {
	t.Helper()
	return e.startKubectl(t, stdin, args).Wait(t)
}

// Running is a kubectl that has been started.
type Running struct {
	cmd            *exec.Cmd
	stdout, stderr messages
	done           chan struct{}
	err            error // how it ended, when done is closed
}

// StartKubectl starts the real kubectl as an administrator, and does not wait for
// its end.
func (e *Env) StartKubectl(t testing.TB, args ...string) *Running {
	t.Helper()
	r := e.startKubectl(t, "", args)
	t.Cleanup(func() { <-r.done }) // it is killed with the test's context
	return r
}

func (e *Env) startKubectl(t testing.TB, stdin string, args []string) *Running {
	t.Helper()
	r := &Running{done: make(chan struct{})}
	r.cmd = exec.CommandContext(t.Context(), e.Cluster.Kubectl, append([]string{"--kubeconfig", e.Kubeconfig}, args...)...)
	r.cmd.Env = append(os.Environ(), "KUBECONFIG=")
	r.cmd.Stdin = strings.NewReader(stdin)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("run kubectl %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	return r
}

// Stderr is what it has said there until now.
func (r *Running) Stderr() string { return r.stderr.String() }

// Wait waits for its end.
func (r *Running) Wait(t testing.TB) Output {
	t.Helper()
	<-r.done
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		t.Fatalf("run %s: %v", strings.Join(r.cmd.Args, " "), r.err)
	}
	return Output{Stdout: r.stdout.String(), Stderr: r.stderr.String(), Code: r.cmd.ProcessState.ExitCode()}
}

// messages can be read while they are written.
type messages struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// Apply creates or changes objects from YAML, and fails the test if it cannot.
func (e *Env) Apply(t testing.TB, namespace, yaml string) {
	t.Helper()
	if out := e.KubectlInput(t, yaml, "apply", "--server-side", "-n", namespace, "-f", "-"); out.Code != 0 {
		t.Fatalf("apply: %s\n%s", out.Stderr, yaml)
	}
}
