// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

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
	c := cached(t, Options{Git: git.Options{Limits: remote.Limits{TreeFiles: 1}}})
	w, other := c.watch(onBranch(repo, "main")), c.watch(onBranch(repo, "other"))
	g.Eventually(func() string { return w.content("f") + other.content("f") }, patience).Should(Equal("1other"))
	repo.Change(t, map[string]string{"more": "x"})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("more than 1 files"))
	before := repo.Counts()
	g.Eventually(func() int { return repo.Counts().Lists }, patience).Should(BeNumerically(">", before.Lists+3))
	if now := repo.Counts(); now.Fetches != before.Fetches {
		t.Errorf("it is fetched again and again: %+v, then %+v", before, now)
	}
	server.SetFault(gitserver.Fault{Status: 500})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("server has an error"))
	server.SetFault(gitserver.Fault{})
	g.Eventually(w.wrong, patience).Should(ContainSubstring("more than 1 files"))
	if w.content("f") != "1" || other.wrong() != "" && !strings.Contains(other.wrong(), "server") {
		t.Errorf("got %q, %q", w.content("f"), other.wrong())
	}
	repo.Change(t, map[string]string{"more": "", "f": "2"})
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
