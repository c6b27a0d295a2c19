// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

func TestServerDownAndBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	pinned := repo.Commit(t, map[string]string{"f": "1"})
	c := cached(t, Options{})
	w := c.watch(onBranch(repo, "main"))
	spec := onBranch(repo, "main")
	spec.Target.Revision = pinned
	fixed := c.watch(spec)
	g.Eventually(func() string { return w.content("f") + fixed.content("f") }, patience).Should(Equal("11"))
	server.Stop()
	g.Eventually(w.wrong, patience).Should(ContainSubstring("cannot be reached"))
	if w.content("f") != "1" {
		t.Error("the last good files are gone")
	}
	if fixed.wrong() != "" {
		t.Errorf("a commit that never changes needs no server: %s", fixed.wrong())
	}
	repo.Commit(t, map[string]string{"f": "2"})
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() string { return w.content("f") + w.wrong() }, patience).Should(Equal("2"))
}

func TestRevisionThatAppearsLater(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	c := cached(t, Options{})
	spec := onBranch(repo, "main")
	spec.Target.Revision = "v1"
	tag, main := c.watch(spec), c.watch(onBranch(repo, "main"))
	g.Eventually(tag.wrong, patience).Should(ContainSubstring("is empty"))
	commit := repo.Commit(t, map[string]string{"f": "1"})
	g.Eventually(func() string { return main.content("f") }, patience).Should(Equal("1"))
	g.Eventually(tag.wrong, patience).Should(ContainSubstring(`no tag, branch or commit "v1"`))
	repo.Tag(t, "v1", commit, "a message")
	g.Eventually(func() string { return tag.content("f") + tag.wrong() }, patience).Should(Equal("1"))
	one, _, _ := tag.Latest()
	if other, _, _ := main.Latest(); other != one || other.Commit != commit {
		t.Errorf("one commit has two folders: %v, %v", one, other)
	}
	repo.Drop(t)
	g.Eventually(main.wrong, patience).Should(ContainSubstring(`no branch "main"`))
	if main.content("f") != "1" || tag.wrong() != "" {
		t.Error("the branch that is gone takes something with it")
	}
}

func TestBranchThatIsNewerThanTheLastLook_isSeenAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	c := cached(t, Options{})
	spec := onBranch(repo, "main")
	spec.Period = time.Hour
	first := c.watch(spec)
	g.Eventually(func() string { return first.content("f") }, patience).Should(Equal("1"))
	repo.Branch("new").Commit(t, map[string]string{"f": "2"})
	spec.Target.Branch = "new"
	second := c.watch(spec)
	g.Eventually(func() string { return second.content("f") }, patience).Should(Equal("2"))
	if second.told.Load() != 1 {
		t.Errorf("it was told %d times", second.told.Load())
	}
}

func TestBadCommit_isFetchedOnceAndGoodOnesStay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	repo.Branch("other").Commit(t, map[string]string{"f": "other"})
	c := cached(t, Options{})
	w, other := c.watch(onBranch(repo, "main")), c.watch(onBranch(repo, "other"))
	g.Eventually(func() string { return w.content("f") + other.content("f") }, patience).Should(Equal("1other"))
	repo.Change(t, map[string]string{"link": gitserver.Symlink("../out")})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("symbolic link link leads out"))
	before := repo.Counts()
	g.Eventually(func() int { return repo.Counts().Lists }, patience).Should(BeNumerically(">", before.Lists+3))
	if now := repo.Counts(); now.Fetches != before.Fetches {
		t.Errorf("it is fetched again and again: %+v, then %+v", before, now)
	}
	server.SetFault(gitserver.Fault{Status: 500})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("server has an error"))
	server.SetFault(gitserver.Fault{})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("symbolic link link leads out"))
	if w.content("f") != "1" || other.wrong() != "" && !strings.Contains(other.wrong(), "server") {
		t.Errorf("got %q, %q", w.content("f"), other.wrong())
	}
	repo.Change(t, map[string]string{"link": "", "f": "2"})
	g.Eventually(func() string { return w.content("f") + w.wrong() }, patience).Should(Equal("2"))
}

func TestTruncatedPackThenRecovery(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	w := cached(t, Options{}).watch(onBranch(repo, "main"))
	g.Eventually(func() string { return w.content("f") }, patience).Should(Equal("1"))
	server.SetFault(gitserver.Fault{CutPackAfter: 100})
	files := map[string]string{"f": "2"}
	for i := range 100 {
		files[fmt.Sprint(i)] = fmt.Sprint(i * i)
	}
	repo.Commit(t, files)
	g.Eventually(w.wrong, patience).Should(ContainSubstring("broke off"))
	if w.content("f") != "1" {
		t.Error("the last good files are gone")
	}
	server.SetFault(gitserver.Fault{})
	g.Eventually(func() string { return w.content("f") + w.wrong() }, patience).Should(Equal("2"))
}

func TestRestart_onTheFolderOfAProcessThatWasKilled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	dir := filepath.Join(t.TempDir(), "sources")

	// What is there in the middle of a fetch, copied as a killed process leaves it.
	c := cached(t, Options{Dir: filepath.Join(t.TempDir(), "first")})
	w := c.watch(onBranch(repo, "main"))
	g.Eventually(func() string { return w.content("f") }, patience).Should(Equal("1"))
	if err := os.CopyFS(dir, os.DirFS(c.options.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"1/repository/shallow.lock", "1/repository/objects/pack/tmp_pack_x", "2/f"} {
		_ = os.Chmod(filepath.Dir(filepath.Join(dir, left)), 0o700)
		_ = os.Remove(filepath.Join(dir, left))
		if err := os.WriteFile(filepath.Join(dir, left), []byte("left"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	again := cached(t, Options{Dir: dir}).watch(onBranch(repo, "main"))
	g.Eventually(func() string { return again.content("f") + again.wrong() }, patience).Should(Equal("1"))
}

func TestEnd_inTheMiddleOfAFetch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	server.SetFault(gitserver.Fault{Stall: true})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := New(ctx, Options{Dir: filepath.Join(t.TempDir(), "sources")})
	if err != nil {
		t.Fatal(err)
	}
	w := c.watch(onBranch(repo, "main"))
	g.Eventually(func() int { return server.Stalled() }, patience).Should(Equal(1))
	cancel()
	c.Wait()
	if w.told.Load() != 0 {
		t.Errorf("an end was told as an error: %s", w.wrong())
	}
	w.Now()
	c.Subscribe(onBranch(repo, "other"), nil).Close()
	w.Close()
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

func TestSourceThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cached(t, Options{})
	w := c.watch(Spec{Remote: Remote{Git: git.Remote{URL: "ext::sh -c id"}}})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("spec.git.repo"))
	if w.told.Load() != 1 {
		t.Errorf("told %d times", w.told.Load())
	}
	spec := Spec{Remote: Remote{Git: git.Remote{URL: "ssh://git@host/r"}}}
	if !spec.HostKeysUnchecked() {
		t.Error("nobody says that the host is not checked")
	}
}
