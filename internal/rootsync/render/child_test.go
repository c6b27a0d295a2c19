// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// inChild has kustomizations be built by processes of this program.
func inChild(t *testing.T, o Options) *Renderer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Program = self
	r := New(o)
	r.lane = &lane{} // tests of this process have nothing to do with it
	return r
}

func TestChild_isAsInThisProcess(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, dir string
		options         Options
	}{
		{"a kustomization", one, "b", Options{}},
		{"a file that is not there", "-- a/kustomization.yaml --\nresources: [x.yaml]\n", "a", Options{}},
		{"a base elsewhere", "-- a/kustomization.yaml --\nresources: ['https://127.0.0.1:1/x']\n", "a", Options{}},
		{"a plugin", "-- a/kustomization.yaml --\ngenerators: [x.yaml]\n-- a/x.yaml --\napiVersion: x/v1\nkind: X\nmetadata: {name: x}\n", "a", Options{}},
		{"too many files", one, "a", Options{Files: 2}},
		{"too much", one, "a", Options{Output: 20}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, _, wantErr := render(t, tt.options, tt.text, tt.dir)
			got, rendered, err := inChild(t, tt.options).Render(t.Context(), Tree{Commit: "c1", Dir: repository(t, tt.text)}, tt.dir)
			if !rendered {
				t.Error("it was not rendered")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			switch {
			case (wantErr == nil) != (err == nil):
				t.Errorf("got %v, want %v", err, wantErr)
			case err != nil:
				if diff := cmp.Diff(wantErr.Message(), err.Message()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// copies doubles an object so often: each patch copies all that there is into itself.
func copies(times int) string {
	var b strings.Builder
	b.WriteString("-- a/cm.yaml --\n" + cm("a") + "-- a/kustomization.yaml --\nresources: [cm.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n")
	for i := range times {
		fmt.Fprintf(&b, "    - {op: copy, from: /data, path: /data/x%d}\n", i)
	}
	return b.String()
}

// grows uses each base twice, so that there are more than can be built in any time.
func grows(levels int) string {
	var b strings.Builder
	b.WriteString("-- d0/cm.yaml --\n" + cm("a") + "-- d0/kustomization.yaml --\nresources: [cm.yaml]\n")
	for i := range levels {
		fmt.Fprintf(&b, "-- e%d/kustomization.yaml --\nnamePrefix: q\nresources: [../d%d]\n", i+1, i)
		fmt.Fprintf(&b, "-- d%d/kustomization.yaml --\nnamePrefix: p\nresources: [../d%d, ../e%d]\n", i+1, i, i+1)
	}
	return b.String()
}

// A kustomization that takes all memory fails by itself; the next one is built.
func TestChild_memoryIsBounded(t *testing.T) {
	t.Parallel()
	r := inChild(t, Options{Memory: 192 << 20})
	list, rendered, err := r.Render(t.Context(), Tree{Commit: "c", Dir: repository(t, copies(40))}, "a")
	if err == nil || !rendered || err.Code != knv.Rendering || !strings.Contains(err.Text, "the kustomization of a needs more than 192 MiB of memory") {
		t.Fatal(list, err)
	}
	if list, _, err := r.Render(t.Context(), Tree{Commit: "d", Dir: repository(t, one)}, "a"); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// One that does not end is ended, and takes nobody's place meanwhile.
func TestChild_timeIsBounded(t *testing.T) {
	t.Parallel()
	r := inChild(t, Options{Time: 3 * time.Second, Files: 1 << 40, Input: 1 << 40})
	begin := time.Now()
	_, rendered, err := r.Render(t.Context(), Tree{Commit: "c", Dir: repository(t, grows(40))}, "d40")
	if err == nil || !rendered || err.Code != knv.InternalRendering || !errors.Is(err, os.ErrDeadlineExceeded) && !strings.Contains(err.Text, "has not ended within 3s") {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if list, _, err := r.Render(t.Context(), Tree{Commit: "d", Dir: repository(t, one)}, "a"); err != nil || len(list) != 1 {
		t.Error("the next one is not built:", list, err)
	}
}

// A program that crashes, or is another, is an error that says so.
func TestChild_thatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"there is none": "/nowhere/program", "another program": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if program == "false" {
				found, err := exec.LookPath(program)
				if err != nil {
					t.Fatal(err)
				}
				program = found
			}
			r := New(Options{Program: program})
			r.lane = &lane{}
			_, rendered, err := r.Render(t.Context(), Tree{Commit: "c", Dir: repository(t, one)}, "a")
			if err == nil || !rendered || err.Code != knv.InternalRendering || !strings.Contains(err.Text, "has ended without an answer") {
				t.Error(err)
			}
		})
	}
}

// What was overlooked in a kustomization does not get at the network of the machine.
func TestChild_hasNoNetwork(t *testing.T) {
	t.Parallel()
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	client := http.Client{Transport: nowhere{}}
	resp, err := client.Get(s.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || asked {
		t.Error("it was asked")
	}
	for _, url := range []string{s.URL + "/x.yaml", "git@127.0.0.1:x", "file:///etc"} {
		text := "-- a/kustomization.yaml --\nresources: ['" + url + "']\n"
		_, _, err := inChild(t, Options{}).Render(t.Context(), Tree{Commit: "c", Dir: repository(t, text)}, "a")
		if err == nil || err.Code != knv.Rendering || asked {
			t.Error(url, err)
		}
	}
}

func TestCrashed(t *testing.T) {
	t.Parallel()
	o := Options{Memory: 1 << 20}
	tests := map[string]struct {
		complaint string
		want      knv.Code
	}{
		"no memory":      {"fatal error: runtime: out of memory\n", knv.Rendering},
		"no thread":      {"runtime: failed to create new OS thread (have 5 already; errno=11)\n", knv.Rendering},
		"something else": {"fatal error: concurrent map writes\n", knv.InternalRendering},
		"nothing":        {"", knv.InternalRendering},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := crashed(tt.complaint, errors.New("exit status 2"), "a", o); got.Code != tt.want {
				t.Error(got)
			}
		})
	}
}
