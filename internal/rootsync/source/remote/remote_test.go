// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeaving(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		links map[string]string
		want  string
	}{
		{"a link beside", map[string]string{"a": "b"}, ""},
		{"a link to the folder above, which is the root", map[string]string{"d/a": ".."}, ""},
		{"a link out", map[string]string{"d/a": "../.."}, "d/a"},
		{"an absolute link", map[string]string{"a": "/etc/passwd"}, "a"},
		{"a link that goes out and comes back", map[string]string{"a": "../tree/b"}, "a"},
		{"a link over another one that is deeper than its name", map[string]string{"a": "d/e/f", "b": "a/../../x"}, ""},
		{"a link over another one that is less deep than its name", map[string]string{"d/e/up": "../..", "d/e/out": "up/../x"}, "d/e/out"},
		{"a link over an absolute one", map[string]string{"a": "b/c", "b": "/"}, "a"},
		{"a circle", map[string]string{"a": "b", "b": "a"}, ""},
		{"a circle that grows", map[string]string{"a": "a/a/a"}, ""},
		{"a link to nothing", map[string]string{"a": "no/such"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := leaving(tt.links); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzLeaving compares with the kernel: whatever two links there are, if leaving finds
// nothing, what they lead to is in the tree.
func FuzzLeaving(f *testing.F) {
	f.Add("d/a", "../..", "b", "d/a/x")
	f.Add("a", "d/e/f", "b", "a/../../x")
	f.Fuzz(func(t *testing.T, name1, target1, name2, target2 string) {
		dir := filepath.Join(t.TempDir(), "above", "tree")
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(dir, Limits{}.OrDefaults())
		if err != nil {
			t.Fatal(err)
		}
		defer discard(w, dir)
		for _, l := range [][2]string{{name1, target1}, {name2, target2}} {
			name, err := Clean(l[0])
			if err != nil || w.Link(name, l[1]) != nil {
				return
			}
		}
		if w.Finish() != nil {
			return
		}
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{name1, name2} {
			to, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err == nil && to != root && !strings.HasPrefix(to, root+"/") {
				t.Errorf("%q -> %q, %q -> %q leads to %s", name1, target1, name2, target2, to)
			}
		}
	})
}

func discard(w *Writer, dir string) {
	_ = w.Close()
	_ = RemoveAll(dir)
}

func TestWriter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		write func(*Writer) error
		want  string
	}{
		{"a file below a link that stays inside", func(w *Writer) error {
			_ = w.Dir("d")
			_ = w.Link("l", "d")
			return w.File("l/f", false, 1, strings.NewReader("x"))
		}, ""},
		{"a file below a link that leads out", func(w *Writer) error {
			_ = w.Link("l", "..")
			return w.File("l/f", false, 1, strings.NewReader("x"))
		}, "l"},
		{"a link that is written through another one is looked at where it is", func(w *Writer) error {
			_ = w.Dir("d/e")
			_ = w.Link("l", "d/e")
			return w.Link("l/out", "../../..")
		}, "the symbolic link d/e/out leads out of the tree, to ../../.."},
		{"a file in place of a link does not write to what the link names", func(w *Writer) error {
			_ = w.Link("l", "../outside")
			return w.File("l", false, 1, strings.NewReader("x"))
		}, ""},
		{"a file below a file", func(w *Writer) error {
			_ = w.File("f", false, 1, strings.NewReader("x"))
			return w.File("f/g", false, 1, strings.NewReader("x"))
		}, "f cannot be written"},
		{"too many files", func(w *Writer) error { return w.Take(11, 0) }, "more than 10 files"},
		{"too many bytes", func(w *Writer) error { return w.Take(1, 2<<20) }, "more than 1 MiB"},
		{"a size that is none", func(w *Writer) error { return w.Take(1, -1) }, "more than 1 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "tree")
			w, err := NewWriter(dir, Limits{TreeFiles: 10, TreeBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer discard(w, dir)
			err = tt.write(w)
			if err == nil {
				err = w.Finish()
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !IsContent(err) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error about the content with %q", err, tt.want)
			}
			if _, err := os.Lstat(filepath.Join(dir, "..", "outside")); err == nil {
				t.Error("something was written outside")
			}
		})
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a/b": "a/b", "./a": "a", "a/./b/": "a/b", ".": ".", "/a": "", "../a": "", "a/../../b": "", "a\x00b": "", "": ""} {
		got, err := Clean(name)
		if (err == nil) != (want != "") || got != want {
			t.Errorf("%q: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestSecret_isNeverShown(t *testing.T) {
	t.Parallel()
	spec := struct{ Token Secret }{"geheim"}
	encoded, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(spec), fmt.Sprintf("%+v %#v %q %x", spec, spec, spec, spec), string(encoded)} {
		if strings.Contains(s, "geheim") || strings.Contains(s, fmt.Sprintf("%x", "geheim")) {
			t.Error(s)
		}
	}
}

func TestLimits_whereNobodySaysOthers(t *testing.T) {
	t.Parallel()
	want := Limits{FetchBytes: 512 << 20, TreeBytes: 512 << 20, TreeFiles: 100_000}
	if diff := cmp.Diff(want, Limits{}.OrDefaults()); diff != "" {
		t.Error(diff)
	}
}
