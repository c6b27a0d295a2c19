// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeCheckout makes a checkout whose nested module takes seconds to build, makes it the working
// directory and returns the folder of that module.
func fakeCheckout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                           "module " + modulePath + "\n",
		"internal/deep/file.go":            "package deep\n",
		"localcluster/go.mod":              "module " + modulePath + "/localcluster\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.99.3\n)\n\nreplace k8s.io/kubernetes => ./kubernetes\n",
		"localcluster/go.sum":              "",
		"localcluster/main.go":             "package main\n\nfunc main() { println(\"built\") }\n",
		"localcluster/kubernetes/go.mod":   "module k8s.io/kubernetes\n",
		"localcluster/kubernetes/empty.go": "package kubernetes\n",
	} {
		writeFile(t, filepath.Join(root, name), content)
	}
	t.Chdir(filepath.Join(root, "internal", "deep"))
	t.Setenv(cacheVariable, filepath.Join(t.TempDir(), "cache"))
	return filepath.Join(root, "localcluster")
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBinary_isBuiltOnceForAllWhoAskAtTheSameTime(t *testing.T) {
	fakeCheckout(t)
	var progress lockedBuffer
	var askers sync.WaitGroup
	paths := make([]string, 4)
	for i := range paths {
		askers.Go(func() {
			path, err := Binary(t.Context(), &progress)
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	askers.Wait()
	if t.Failed() {
		t.FailNow()
	}

	for _, path := range paths {
		if path != paths[0] {
			t.Errorf("one got %s, another %s", paths[0], path)
		}
	}
	if n := strings.Count(progress.String(), ": done, "); n != 1 {
		t.Errorf("built %d times:\n%s", n, progress.String())
	}
	for _, program := range []string{paths[0], kubectlBeside(paths[0])} {
		said, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		if err != nil || string(said) != "built\n" {
			t.Errorf("%s says %q (%v)", program, said, err)
		}
	}
}

func TestBinary_ofAChangedSourceIsAnother(t *testing.T) {
	source := fakeCheckout(t)
	first, err := Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(source, "main_test.go"), "package main\n")
	same, err := Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if same != first {
		t.Error("a test of the nested module, which is not in the binary, changed the binary")
	}
	for _, file := range []string{"other.go", "package/other.go"} {
		writeFile(t, filepath.Join(source, file), "package main\n")
		next, err := Binary(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if next == first {
			t.Errorf("the binary of the source before %s was taken for that of the new one", file)
		}
		first = next
	}
}

func TestBinary_ofABrokenSourceShowsWhatTheCompilerSays(t *testing.T) {
	source := fakeCheckout(t)
	writeFile(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { nonsense() }\n")
	_, err := Binary(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Fatalf("error = %v, want the compiler's", err)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv(cacheVariable), "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %q (%v)", left, err)
	}
}

func TestBinary_needsACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Binary(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not in a checkout") {
		t.Errorf("error = %v, want one about the checkout", err)
	}
}

func TestBuildFlags_giveTheVersionThatTheModuleRequires(t *testing.T) {
	flags, err := buildFlags(fakeCheckout(t))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(flags, " ")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.99.3",
		"-X k8s.io/component-base/version.gitMinor=99",
		"-X k8s.io/client-go/pkg/version.gitMajor=1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
}

func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	cache, now := t.TempDir(), time.Now()
	tests := []struct {
		name    string
		folder  string
		age     time.Duration
		removed bool
	}{
		{name: "a binary that was used lately stays", folder: "localcluster-1", age: 13 * 24 * time.Hour},
		{name: "a binary that nobody used for long goes", folder: "localcluster-2", age: 15 * 24 * time.Hour, removed: true},
		{name: "the binary in use stays, whatever its age", folder: "localcluster-3", age: 15 * 24 * time.Hour},
		{name: "what is not ours stays", folder: "something-else", age: 15 * 24 * time.Hour},
	}
	for _, tt := range tests {
		binary := filepath.Join(cache, tt.folder, binaryName)
		writeFile(t, binary, "")
		if err := os.Chtimes(binary, now.Add(-tt.age), now.Add(-tt.age)); err != nil {
			t.Fatal(err)
		}
	}
	removeUnused(cache, filepath.Join(cache, "localcluster-3"), now)
	for _, tt := range tests {
		_, err := os.Stat(filepath.Join(cache, tt.folder))
		if removed := errors.Is(err, os.ErrNotExist); removed != tt.removed {
			t.Errorf("%s: removed = %t", tt.name, removed)
		}
	}
}

func TestReporter_countsWhatTheGoCommandSays(t *testing.T) {
	t.Parallel()
	r := newReporter(io.Discard, "building")
	defer r.stop()
	for _, step := range []struct {
		line      string
		unrelated bool
		want      string // the state after it
	}{
		{line: "go: downloading k8s.io/api v0.37.0", want: "1 modules downloaded"},
		{line: "go: k8s.io/api@v0.37.0: reading: 404 Not Found", unrelated: true, want: "1 modules downloaded"},
	} {
		if read := r.read(step.line); read == step.unrelated {
			t.Errorf("%q: read = %t", step.line, read)
		}
		if got := r.state(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.line, got, step.want)
		}
	}
	r.compiling(2)
	for _, step := range []struct {
		line      string
		unrelated bool
		want      string
	}{
		{line: "k8s.io/api/core/v1", want: "1 of 2 packages compiled"},
		{line: "# k8s.io/api/core/v1", unrelated: true, want: "1 of 2 packages compiled"},
		{line: "core/v1/types.go:1:2: undefined: x", unrelated: true, want: "1 of 2 packages compiled"},
		{line: "github.com/holdfast-dev/holdfast/localcluster", want: "linking"},
	} {
		if read := r.read(step.line); read == step.unrelated {
			t.Errorf("%q: read = %t", step.line, read)
		}
		if got := r.state(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.line, got, step.want)
		}
	}
}

func TestAcquire_givesUpWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := acquire(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var progress bytes.Buffer
	if _, err := acquire(ctx, path, &progress); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want that of the context", err)
	}
	if !strings.Contains(progress.String(), "another process is building") {
		t.Errorf("progress = %q", progress.String())
	}
}
