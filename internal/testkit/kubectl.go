// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
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
	cmd := exec.CommandContext(t.Context(), e.Cluster.Kubectl, append([]string{"--kubeconfig", e.Kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run kubectl %s: %v", strings.Join(args, " "), err)
	}
	return Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// Apply creates or changes objects from YAML, and fails the test if it cannot.
func (e *Env) Apply(t testing.TB, namespace, yaml string) {
	t.Helper()
	if out := e.KubectlInput(t, yaml, "apply", "--server-side", "-n", namespace, "-f", "-"); out.Code != 0 {
		t.Fatalf("apply: %s\n%s", out.Stderr, yaml)
	}
}
