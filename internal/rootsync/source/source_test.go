// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/oci"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/registry"
)

func TestMain(m *testing.M) {
	if code, started := helper.Main(); started {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	patience = time.Minute // for failure only
	quick    = 50 * time.Millisecond
)

// cached is a Cache that ends with the test, and leaves nothing behind.
func cached(t *testing.T, o Options) *Cache {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "sources")
	}
	if o.Retry == 0 {
		o.Retry = quick
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		c.Wait()
		if _, err := os.Stat(o.Dir); !os.IsNotExist(err) {
			t.Errorf("something is left: %v", err)
		}
	})
	return c
}

// watcher is a subscription that counts what it is told.
type watcher struct {
	*Subscription
	told atomic.Int64
}

func (c *Cache) watch(spec Spec) *watcher {
	w := &watcher{}
	w.Subscription = c.Subscribe(spec, func() { w.told.Add(1) })
	return w
}

// content is what a file of the latest tree has, "" if there is none.
func (w *watcher) content(name string) string {
	tree := w.Hold()
	if tree == nil {
		return ""
	}
	defer tree.Release()
	data, err := os.ReadFile(filepath.Join(tree.Dir, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// wrong is what is wrong with the source.
func (w *watcher) wrong() string {
	_, _, err := w.Latest()
	if err == nil {
		return ""
	}
	return err.Text
}

func onBranch(repo *gitserver.Repo, branch string) Spec {
	return Spec{Remote: Remote{Git: git.Remote{URL: repo.URL()}}, Target: remote.Target{Branch: branch}, Period: quick}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	w := cached(t, Options{}).watch(onBranch(repo, "main"))
	g.Eventually(func() string { return w.content("f") }, patience).Should(Equal("1"))

	held := w.Hold()
	repo.Commit(t, map[string]string{"f": "2"})
	g.Eventually(func() string { return w.content("f") }, patience).Should(Equal("2"))
	if data, err := os.ReadFile(filepath.Join(held.Dir, "f")); err != nil || string(data) != "1" {
		t.Errorf("what is held has changed: %q, %v", data, err)
	}
	held.Release()
	g.Eventually(func() bool { _, err := os.Stat(held.Dir); return os.IsNotExist(err) }, patience).Should(BeTrue(), "the folder of the former commit goes")
	if held.Hold() {
		t.Error("what is gone was held")
	}

	forced := repo.Rewrite(t, map[string]string{"f": "3"})
	g.Eventually(func() string { return w.content("f") }, patience).Should(Equal("3"))
	tree, at, err := w.Latest()
	if tree.Commit != forced || err != nil || at.IsZero() {
		t.Errorf("got %v, %v, %v", tree, at, err)
	}
	polls := repo.Counts().Lists
	g.Eventually(func() int { return repo.Counts().Lists }, patience).Should(BeNumerically(">", polls+3))
	if _, again, _ := w.Latest(); !again.Equal(at) || w.told.Load() != 3 {
		t.Errorf("without a change something was told: %d times, %v, %v", w.told.Load(), at, again)
	}
	w.Close()
	w.Close()
	if tree, _, err := w.Latest(); tree != nil || err != nil {
		t.Errorf("closed, it has %v, %v", tree, err)
	}
}

func TestManySubscriptions_costOneLook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "main"})
	repo.Branch("other").Commit(t, map[string]string{"f": "other"})
	c := cached(t, Options{})
	var all []*watcher
	for i := range 100 {
		spec := onBranch(repo, []string{"main", "other"}[i%2])
		spec.Period = time.Hour
		all = append(all, c.watch(spec))
	}
	for i, w := range all {
		g.Eventually(func() string { return w.content("f") }, patience).Should(Equal([]string{"main", "other"}[i%2]))
	}
	// One who comes later goes by what is known.
	spec := onBranch(repo, "other")
	spec.Period, spec.Target.Revision = time.Hour, "main"
	late := c.watch(spec)
	g.Eventually(func() string { return late.content("f") }, patience).Should(Equal("main"))
	// A fetch is two requests where server and client first look for what both have.
	before := repo.Counts()
	if before.Lists != 1 || before.Fetches > 3 {
		t.Errorf("got %+v, want 1 list and 2 fetches", before)
	}

	repo.Commit(t, map[string]string{"f": "new"})
	for _, w := range all {
		w.Now()
	}
	for i, w := range all {
		g.Eventually(func() string { return w.content("f") }, patience).Should(Equal([]string{"new", "other"}[i%2]))
	}
	// Those who ask while a look is under way cause one more.
	if got := repo.Counts(); got.Lists > 4 || got.Fetches != before.Fetches+1 {
		t.Errorf("after 100 requests to look now: %+v, before %+v", got, before)
	}
}

func TestPeriod_oneLookForAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	c := cached(t, Options{})
	spec := onBranch(repo, "main")
	spec.Period = 500 * time.Millisecond
	var last *watcher
	for range 100 {
		last = c.watch(spec)
	}
	g.Eventually(func() string { return last.content("f") }, patience).Should(Equal("1"))
	begin, before := time.Now(), repo.Counts().Lists
	g.Eventually(func() int { return repo.Counts().Lists }, patience).Should(BeNumerically(">=", before+5))
	// Five looks take four periods at least, each a tenth shorter than it says at most.
	if took := time.Since(begin); took < 4*450*time.Millisecond-500*time.Millisecond {
		t.Errorf("5 looks took %s", took)
	}
}

func TestOtherCredentials_areAskedForThemselves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{Username: "me", Password: "geheim"})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	c := cached(t, Options{})
	spec := onBranch(repo, "main")
	spec.Git.Username, spec.Git.Password = "me", "geheim"
	may := c.watch(spec)
	spec.Git.Password = "falsch"
	mayNot := c.watch(spec)
	g.Eventually(func() string { return may.content("f") }, patience).Should(Equal("1"))
	g.Eventually(mayNot.wrong, patience).Should(ContainSubstring("does not take the credentials"))
	if tree, _, _ := mayNot.Latest(); tree != nil {
		t.Error("it has got the files all the same")
	}

	server.SetLogin("me", "falsch")
	g.Eventually(may.wrong, patience).Should(ContainSubstring("expired"))
	g.Eventually(func() string { return mayNot.content("f") + mayNot.wrong() }, patience).Should(Equal("1"))
	if may.content("f") != "1" {
		t.Error("the last good files are gone")
	}
	server.SetLogin("me", "geheim")
	repo.Commit(t, map[string]string{"f": "2"})
	g.Eventually(func() string { return may.content("f") + may.wrong() }, patience).Should(Equal("2"))
}

func TestImage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := registry.Start(t, registry.Options{})
	image := server.Image("o/config")
	c := cached(t, Options{})
	w := c.watch(Spec{Remote: Remote{OCI: oci.Remote{Image: image + ":v1"}}, Period: quick})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("does not exist"))
	digest := server.Push(t, image+":v1", registry.Layer(t, map[string]string{"f": "1"}))
	g.Eventually(func() string { return w.content("f") + w.wrong() }, patience).Should(Equal("1"))
	if tree, _, _ := w.Latest(); "sha256:"+tree.Commit != digest {
		t.Errorf("got %s, want %s", tree.Commit, digest)
	}
	server.Push(t, image+":v1", registry.Layer(t, map[string]string{"f": "2"}))
	g.Eventually(func() string { return w.content("f") + w.wrong() }, patience).Should(Equal("2"))
}
