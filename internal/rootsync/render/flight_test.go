// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

const one = "-- a/kustomization.yaml --\nresources: [cm.yaml]\n-- a/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
	"-- b/kustomization.yaml --\nresources: [../a]\n"

// fake is a Renderer with another kustomize, which may run beside the real one.
func fake(o Options, build func(dir string) ([]parse.File, error)) *Renderer {
	r := New(o)
	r.lane = &lane{}
	r.build = func(_ context.Context, _ *files, dir string) ([]parse.File, error) { return build(dir) }
	return r
}

func TestRender_oneBuildForAllWhoWantIt(t *testing.T) {
	t.Parallel()
	builds, begun, goOn := 0, make(chan struct{}), make(chan struct{})
	r := fake(Options{}, func(string) ([]parse.File, error) {
		builds++
		close(begun)
		<-goOn
		return []parse.File{{Path: "x"}}, nil
	})
	tree := Tree{Commit: "c", Dir: repository(t, one)}
	hasty, leave := context.WithCancel(t.Context())
	gone := make(chan *knv.Error)
	go func() {
		_, _, err := r.Render(hasty, tree, "a")
		gone <- err
	}()
	<-begun
	leave()
	if err := <-gone; err == nil || !errors.Is(err, context.Canceled) {
		t.Error("whoever goes is still waiting:", err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if list, rendered, err := r.Render(t.Context(), tree, "/a/"); err != nil || !rendered || len(list) != 1 {
				t.Error(list, err)
			}
		})
	}
	close(goOn)
	wg.Wait()
	// It is known, whatever has become of the tree.
	if list, rendered, err := r.Render(t.Context(), Tree{Commit: "c", Dir: "nowhere"}, "a"); err != nil || !rendered || len(list) != 1 {
		t.Error(list, err)
	}
	if builds != 1 {
		t.Errorf("%d builds", builds)
	}
}

func TestRender_whatTheCommitDecidesIsKept(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	dir := repository(t, "-- a/kustomization.yaml --\nresources: [x.yaml]\n")
	_, _, first := r.Render(t.Context(), Tree{Commit: "c", Dir: dir}, "a")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Render(t.Context(), Tree{Commit: "c", Dir: dir}, "a"); err == nil || err != first {
		t.Error(err)
	}
	// A disk that cannot be read says nothing of a commit.
	if _, _, err := r.Render(t.Context(), Tree{Commit: "d", Dir: dir}, "a"); err == nil || err.Code != knv.InternalRendering {
		t.Error(err)
	}
	if list, _, err := r.Render(t.Context(), Tree{Commit: "d", Dir: repository(t, one)}, "a"); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// A build that does not end is given up in time, for all who want it. Others are told
// which it is until it ends, and go on then.
func TestRender_aBuildThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	goOn := make(chan struct{})
	r := fake(Options{Time: 20 * time.Millisecond, Clock: clock}, func(dir string) ([]parse.File, error) {
		if dir == "a" {
			<-goOn
		}
		return []parse.File{{Path: "x"}}, nil
	})
	tree := Tree{Commit: "c", Dir: repository(t, one)}
	says := func(dir, text string) {
		t.Helper()
		_, rendered, err := r.Render(t.Context(), tree, dir)
		if err == nil || !rendered || err.Code != knv.InternalRendering || !strings.Contains(err.Text, text) {
			t.Errorf("%v does not say %s", err, text)
		}
	}
	says("a", "rendering of a has not ended within 20ms")
	says("b", "rendering of b of c waits for that of a of c")
	says("a", "rendering of a has not ended within 20ms")
	place := r.lane.now
	close(goOn)
	<-place.left
	if list, _, err := r.Render(t.Context(), tree, "b"); err != nil || len(list) != 1 {
		// The time limit of the test is short, and a busy machine may be slow.
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	says("a", "rendering of a has not ended within 20ms")
	clock.SetTime(clock.Now().Add(retry))
	if _, _, err := r.Render(t.Context(), tree, "a"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error("it is not tried again:", err)
	}
}

func TestRender_nothingIsReadWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	r := New(Options{Time: time.Nanosecond})
	r.lane = &lane{}
	tree := Tree{Commit: "c", Dir: repository(t, one+"-- plain/x.yaml --\n")}
	for _, dir := range []string{"a", "plain"} {
		if _, _, err := r.Render(t.Context(), tree, dir); err == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(dir, err)
		}
	}
}

func TestRender_aPanicIsAnError(t *testing.T) {
	t.Parallel()
	r := fake(Options{}, func(dir string) ([]parse.File, error) {
		return caught(dir, func() ([]parse.File, error) {
			if dir == "a" {
				panic("oh")
			}
			return nil, nil
		})
	})
	tree := Tree{Commit: "c", Dir: repository(t, one)}
	if _, _, err := r.Render(t.Context(), tree, "a"); err == nil || err.Code != knv.InternalRendering || !strings.Contains(err.Text, "oh") {
		t.Error(err)
	}
	if _, _, err := r.Render(t.Context(), tree, "b"); err != nil {
		t.Error("the next one cannot be built:", err)
	}
}

func TestRender_limits(t *testing.T) {
	t.Parallel()
	var twice strings.Builder
	for i := range 12 {
		fmt.Fprintf(&twice, "-- d%d/kustomization.yaml --\nnamePrefix: p\nresources: [../d%d, ../e%d]\n-- e%d/kustomization.yaml --\nnamePrefix: q\nresources: [../d%d]\n", i+1, i, i+1, i+1, i)
	}
	twice.WriteString("-- d0/kustomization.yaml --\nresources: [cm.yaml]\n-- d0/cm.yaml --\n" + cm("a"))
	tests := []struct {
		name    string
		options Options
		files   string
		dir     string
		says    string
	}{
		{"files of a directory", Options{Files: 3}, "-- a/1.yaml --\n-- a/2.yaml --\n-- a/3.yaml --\n", "a", "more than 3 files"},
		{"folders of a directory", Options{Files: 3}, "-- a/1/x --\n-- a/2/x --\n-- a/3/x --\n", "a", "more than 3 files"},
		{"bytes of a directory", Options{Input: 3}, "-- a/1.yaml --\nabcd\n", "a", "more than 3 bytes"},
		{"aliases of a directory", Options{Input: 2000}, "-- a/1.yaml --\n" + bomb("", 4), "a", "more than 2000 bytes"},
		{"files of a kustomization", Options{Files: 2}, one, "a", "more than 2 files"},
		{"bytes of a kustomization", Options{Input: 50}, one, "a", "more than 50 bytes"},
		{"bytes that a kustomization makes", Options{Output: 20}, one, "a", "makes more than 20 bytes"},
		{"a base that is used 4,096 times", Options{Files: 100}, twice.String(), "d12", "more than 100 files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := render(t, tt.options, tt.files, tt.dir)
			if err == nil || err.Code != knv.Rendering || !strings.Contains(err.Text, tt.says) {
				t.Errorf("%v does not say %s", err, tt.says)
			}
		})
	}
}

// With AnyFile the limit is the repository, as for bases.
func TestRender_anyFile(t *testing.T) {
	t.Parallel()
	const text = "-- a/b/kustomization.yaml --\nresources: [../../cm.yaml]\n-- cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	if _, _, err := render(t, Options{}, text, "a/b"); err == nil {
		t.Error("a file of another folder is used")
	}
	if list, _, err := render(t, Options{AnyFile: true}, text, "a/b"); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	for _, outside := range []string{"../../../../../../etc/hostname", "link.yaml"} {
		text := "-- a/b/kustomization.yaml --\nresources: [" + outside + "]\n-- a/b/link.yaml --\n-> /etc/hostname\n"
		if _, _, err := render(t, Options{AnyFile: true}, text, "a/b"); err == nil || !strings.Contains(err.Text, "leads out of the repository") {
			t.Error(err)
		}
	}
}

// Kustomize keeps the schema of one build for the next.
func TestRender_aSchemaIsForgotten(t *testing.T) {
	t.Parallel()
	const text = `
-- own/kustomization.yaml --
resources: [../plain]
openapi: {path: schema.json}
-- own/schema.json --
{"definitions": {"v1.Pump": {
  "properties": {"parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}},
    "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}},
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Pump"}]}}}
-- plain/kustomization.yaml --
resources: [p.yaml]
patches:
- patch: |
    apiVersion: example.com/v1
    kind: Pump
    metadata: {name: p}
    parts: [{name: b, size: 2}]
-- plain/p.yaml --
apiVersion: example.com/v1
kind: Pump
metadata: {name: p}
parts: [{name: a, size: 1}, {name: b, size: 1}]
`
	want, _, err := render(t, Options{}, text, "plain")
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{})
	tree := Tree{Commit: "c", Dir: repository(t, text)}
	own, _, err := r.Render(t.Context(), tree, "own")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(own[0].Data, want[0].Data) {
		t.Fatal("the schema changes nothing, so nothing is shown")
	}
	got, _, err := r.Render(t.Context(), tree, "plain")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	of := func(n int) result { return result{files: []parse.File{{Data: make([]byte, n)}}} }
	now := time.Now()
	c := cache{limit: 3 * (perEntry + 64 + 100)}
	for _, name := range []string{"a", "b", "c"} {
		c.put(key{name, ""}, of(100))
	}
	c.get(key{"a", ""}, now)
	c.put(key{"d", ""}, of(100))
	c.put(key{"large", ""}, of(1<<20))
	c.put(key{"d", ""}, of(50))
	var left []string
	for _, name := range []string{"a", "b", "c", "d", "large"} {
		if _, found := c.get(key{name, ""}, now); found {
			left = append(left, name)
		}
	}
	if diff := cmp.Diff([]string{"a", "c", "d"}, left); diff != "" {
		t.Error(diff)
	}
	if want := 3*(perEntry+64) + 250; c.used != want || len(c.order) != 3 {
		t.Errorf("%d bytes are counted, not %d", c.used, want)
	}
	c.put(key{"e", ""}, result{until: now})
	if _, found := c.get(key{"e", ""}, now); found {
		t.Error("what is to be tried again is kept")
	}
}
