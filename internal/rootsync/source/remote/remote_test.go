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
		{"a link that leads out stays, and nothing is written through it", func(w *Writer) error {
			_ = w.Dir("d/e")
			_ = w.Link("l", "d/e")
			_ = w.Link("l/out", "../../..")
			if err := w.File("d/e/out/outside", false, 1, strings.NewReader("x")); err == nil {
				return Content("it was written")
			}
			return nil
		}, ""},
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
