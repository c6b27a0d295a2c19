// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// patience bounds each wait for a controller, and often is the interval of its polls.
const (
	patience = 180 * time.Second
	often    = 100 * time.Millisecond
)

// params gives a script a cluster, a namespace NS, and the commands kubectl,
// exits and eventually.
func params(t *testing.T, env *testkit.Env, p testscript.Params) testscript.Params {
	t.Helper()
	path := env.Path(t)
	p.RequireUniqueNames = true
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("NS", env.Namespace(t))
		e.Setenv("HOME", e.WorkDir)
		e.Setenv("KUBECONFIG", env.Kubeconfig)
		e.Setenv("PATH", path)
		return nil
	}
	r := runner{t, env}
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"kubectl":          func(ts *testscript.TestScript, neg bool, args []string) { r.command(ts, neg, "kubectl", args) },
		"kubectl-holdfast": func(ts *testscript.TestScript, neg bool, args []string) { r.command(ts, neg, "kubectl-holdfast", args) },
		"kubectl-hns":      func(ts *testscript.TestScript, neg bool, args []string) { r.command(ts, neg, "kubectl-hns", args) },
		"exits":            r.exits,
		"eventually":       r.eventually,
	}
	return p
}

// alone runs scripts one by one.
func alone(t *testing.T, env *testkit.Env, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		// Scripts are parallel tests: this one ends before the next begins.
		t.Run("alone", func(t *testing.T) {
			testscript.Run(t, params(t, env, testscript.Params{Files: []string{file}}))
		})
	}
}

// runner runs the commands of scripts against a cluster.
type runner struct {
	t   *testing.T
	env *testkit.Env
}

// inProcess are the kubectl commands that run in the test's process, which takes a tenth of the CPU of a new one.
var inProcess = sets.New("annotate", "apply", "create", "delete", "get", "label", "patch", "scale", "wait")

// run runs a command. It executes plugins directly; "exec kubectl holdfast" has kubectl find the plugin on PATH.
// A caller that is done calls write, which makes the output that of the script's last command.
func (r runner) run(ts *testscript.TestScript, args []string) (write func(), err error) {
	nothing := func() {} // TestScript.Exec has already written
	if args[0] != "kubectl" || len(args) < 2 {
		return nothing, ts.Exec(args[0], args[1:]...)
	}
	verb := args[1]
	switch {
	case verb == "holdfast" || verb == "hns":
		return nothing, ts.Exec("kubectl-"+verb, args[2:]...)
	case !inProcess.Has(verb) || slices.Contains(args, "-") || ts.Getenv("KUBECONFIG") != r.env.Kubeconfig:
		return nothing, ts.Exec(args[0], args[1:]...)
	}
	args = slices.Clone(args[1:])
	for i := 1; i < len(args); i++ {
		if flag := args[i-1]; flag == "-f" || flag == "--patch-file" {
			args[i] = ts.MkAbs(args[i])
		}
	}
	out := r.env.KubectlOutput(args)
	if out.Code != 0 {
		err = exitError(out.Code)
	}
	return func() {
		fmt.Fprint(ts.Stdout(), out.Stdout)
		fmt.Fprint(ts.Stderr(), out.Stderr)
	}, err
}

// exitError is a nonzero exit code of kubectl in this process.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitCode returns the code, as exec.ExitError does.
func (e exitError) ExitCode() int { return int(e) }

// command implements a script command of the same name as a binary, so that scripts read as what people type.
func (r runner) command(ts *testscript.TestScript, neg bool, name string, args []string) {
	write, err := r.run(ts, append([]string{name}, args...))
	write()
	switch {
	case neg && err == nil:
		ts.Fatalf("unexpected success")
	case !neg && err != nil:
		ts.Fatalf("unexpected failure: %v", err)
	}
}

// exits runs a command that must end with a certain exit code:
//
//	exits 3 kubectl holdfast why delete namespace $NS
func (r runner) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	write, err := r.run(ts, args[1:])
	write()
	if err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
}

// eventually polls a command until it succeeds, or with "!" before the command
// until it fails: controllers and the authorizer's informers lag behind a write.
func (r runner) eventually(ts *testscript.TestScript, neg bool, args []string) {
	fails := len(args) > 0 && args[0] == "!"
	if fails {
		args = args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually [!] COMMAND...")
	}
	var write func()
	var last error
	err := wait.PollUntilContextTimeout(r.t.Context(), often, patience, true, func(context.Context) (bool, error) {
		write, last = r.run(ts, args)
		return (last != nil) == fails, nil
	})
	if write != nil {
		write()
	}
	if err != nil {
		ts.Fatalf("%s: %v after %s; the last try: %v", strings.Join(args, " "), err, patience, last)
	}
}
