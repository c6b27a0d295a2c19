// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// patience is how long a test waits for what comes by itself, and often how often it looks.
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
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"kubectl":          kubectl,
		"kubectl-holdfast": directly("kubectl-holdfast"),
		"kubectl-hns":      directly("kubectl-hns"),
		"exits":            exits,
		"eventually":       eventually,
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

// kubectl is "exec kubectl", so that scripts read as what people type. It calls a plugin as kubectl does, in
// half the time; "exec kubectl holdfast" has kubectl look for it.
func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	succeeds(ts, neg, execute(ts, append([]string{"kubectl"}, args...)))
}

// directly is a plugin that is called without kubectl.
func directly(plugin string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) { succeeds(ts, neg, ts.Exec(plugin, args...)) }
}

func succeeds(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case neg && err == nil:
		ts.Fatalf("unexpected success")
	case !neg && err != nil:
		ts.Fatalf("unexpected failure: %v", err)
	}
}

func execute(ts *testscript.TestScript, args []string) error {
	if len(args) > 1 && args[0] == "kubectl" && (args[1] == "holdfast" || args[1] == "hns") {
		return ts.Exec("kubectl-"+args[1], args[2:]...)
	}
	return ts.Exec(args[0], args[1:]...)
}

// exits runs a command that must end with a certain exit code:
//
//	exits 3 kubectl holdfast why delete namespace $NS
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := execute(ts, args[1:]); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
}

// eventually runs a command until it succeeds, or with "!" before the command
// until it fails: what controllers do and what the authorizer knows takes a
// moment.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	fails := len(args) > 0 && args[0] == "!"
	if fails {
		args = args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually [!] COMMAND...")
	}
	deadline := time.Now().Add(patience)
	for {
		err := execute(ts, args)
		if (err != nil) == fails {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: still not so: %v", strings.Join(args, " "), err)
		}
		time.Sleep(often) //nolint:forbidigo // a script waits for a command, which has no event
	}
}
