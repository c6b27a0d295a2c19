// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nested

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

// program is the one in the fake checkout.
func program() Program {
	return Program{Name: "program", About: "a test", Links: []string{"alias"}}
}

// fakeCheckout makes a checkout whose nested module takes seconds to build, makes it the working
// directory and returns the folder of that module.
func fakeCheckout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                "module " + modulePath + "\n",
		"internal/deep/file.go": "package deep\n",
		"program/go.mod":        "module " + modulePath + "/program\n\ngo 1.26.0\n",
		"program/go.sum":        "",
		"program/main.go":       "package main\n\nfunc main() { println(\"built\") }\n",
	} {
		writeFile(t, filepath.Join(root, name), content)
	}
	t.Chdir(filepath.Join(root, "internal", "deep"))
	t.Setenv(cacheVariable, filepath.Join(t.TempDir(), "cache"))
	return filepath.Join(root, "program")
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
			path, err := program().Binary(t.Context(), &progress)
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
	for _, path := range []string{paths[0], filepath.Join(filepath.Dir(paths[0]), "alias")} {
		said, err := exec.CommandContext(t.Context(), path).CombinedOutput()
		if err != nil || string(said) != "built\n" {
			t.Errorf("%s says %q (%v)", path, said, err)
		}
	}
}

func TestBinary_ofAChangedSourceIsAnother(t *testing.T) {
	source := fakeCheckout(t)
	first, err := program().Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(source, "main_test.go"), "package main\n")
	same, err := program().Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if same != first {
		t.Error("a test of the nested module, which is not in the binary, changed the binary")
	}
	for _, file := range []string{"other.go", "package/other.go", "embedded.yaml"} {
		writeFile(t, filepath.Join(source, file), "package main\n")
		next, err := program().Binary(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if next == first {
			t.Errorf("the binary of the source before %s was taken for that of the new one", file)
		}
		first = next
	}
}

func TestBinary_ofAnotherModFileIsAnother(t *testing.T) {
	source := fakeCheckout(t)
	other := program()
	other.ModFile = "older.mod"
	if _, err := other.Binary(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "older.mod") {
		t.Errorf("error = %v, want one that names the file that is not there", err)
	}
	writeFile(t, filepath.Join(source, "older.mod"), "module "+modulePath+"/program\n\ngo 1.25.0\n")
	writeFile(t, filepath.Join(source, "older.sum"), "")
	first, err := program().Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.Binary(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("it was taken for the one of go.mod")
	}
}

func TestBinary_ofABrokenSourceShowsWhatTheCompilerSays(t *testing.T) {
	source := fakeCheckout(t)
	writeFile(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { nonsense() }\n")
	_, err := program().Binary(t.Context(), nil)
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
	if _, err := program().Binary(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not in a checkout") {
		t.Errorf("error = %v, want one about the checkout", err)
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
		{name: "a binary that was used lately stays", folder: "program-1", age: 13 * 24 * time.Hour},
		{name: "a binary that nobody used for long goes", folder: "program-2", age: 15 * 24 * time.Hour, removed: true},
		{name: "the binary in use stays, whatever its age", folder: "program-3", age: 15 * 24 * time.Hour},
		{name: "what is not ours stays", folder: "something-else", age: 15 * 24 * time.Hour},
	}
	for _, tt := range tests {
		binary := filepath.Join(cache, tt.folder, program().Name)
		writeFile(t, binary, "")
		if err := os.Chtimes(binary, now.Add(-tt.age), now.Add(-tt.age)); err != nil {
			t.Fatal(err)
		}
	}
	program().removeUnused(cache, filepath.Join(cache, "program-3"), now)
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
		{line: "github.com/holdfast-dev/holdfast/program", want: "linking"},
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
	held, err := acquire(t.Context(), path, "it", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var progress bytes.Buffer
	if _, err := acquire(ctx, path, "it", &progress); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want that of the context", err)
	}
	if !strings.Contains(progress.String(), "another process is building it") {
		t.Errorf("progress = %q", progress.String())
	}
}

// lockedBuffer is a buffer that several goroutines may use.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
