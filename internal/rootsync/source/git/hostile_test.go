// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

// plumb runs git on a repository of the server, for what no client of good will makes.
func plumb(t *testing.T, repo *gitserver.Repo, in string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir=" + repo.Dir(), "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func TestHostileTrees(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	tests := []struct {
		name  string
		tree  func(repo *gitserver.Repo, blob string) string
		words []string
	}{
		{"a folder .git", func(repo *gitserver.Repo, blob string) string {
			hooks := plumb(t, repo, "100755 blob "+blob+"\tconfig\n", "mktree")
			return plumb(t, repo, "040000 tree "+hooks+"\t.git\n", "mktree")
		}, []string{"could do harm", "hasDotgit"}},
		{"a folder that Windows takes for .git", func(repo *gitserver.Repo, blob string) string {
			hooks := plumb(t, repo, "100755 blob "+blob+"\tconfig\n", "mktree")
			return plumb(t, repo, "040000 tree "+hooks+"\t.GIT\n", "mktree")
		}, []string{"could do harm"}},
		{"a path that leads out", func(repo *gitserver.Repo, blob string) string {
			return plumb(t, repo, "100644 blob "+blob+"\t..\n", "mktree")
		}, []string{"could do harm", "hasDotdot"}},
		{"ten thousand million files in a few bytes", func(repo *gitserver.Repo, blob string) string {
			id := blob
			for level := range 10 {
				kind := "040000 tree "
				if level == 0 {
					kind = "100644 blob "
				}
				var entries strings.Builder
				for i := range 10 {
					fmt.Fprintf(&entries, "%s%s\t%d\n", kind, id, i)
				}
				id = plumb(t, repo, entries.String(), "mktree")
			}
			return id
		}, []string{"more than 10000 files"}},
		{"a large file in a few bytes", func(repo *gitserver.Repo, _ string) string {
			large := plumb(t, repo, strings.Repeat("\x00", 8<<20), "hash-object", "-w", "--stdin")
			return plumb(t, repo, "100644 blob "+large+"\tf\n", "mktree")
		}, []string{"more than 4 MiB"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := server.Repo(t, fmt.Sprint(i))
			blob := plumb(t, repo, "x", "hash-object", "-w", "--stdin")
			commit := plumb(t, repo, "", "commit-tree", "-m", "m", tt.tree(repo, blob))
			repo.Reset(t, commit)
			_, _, err := fetched(t, opened(t, Options{Limits: remote.Limits{TreeFiles: 10_000, TreeBytes: 4 << 20}}, Remote{URL: repo.URL()}), onMain)
			wantError(t, err, tt.words...)
			if !remote.IsContent(err) {
				t.Error("it is to be tried again only with another commit")
			}
		})
	}
}

func TestBranchOfATree_isNoCommit(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "x"})
	plumb(t, repo, "", "update-ref", "refs/tags/tree", "refs/heads/main^{tree}")
	_, _, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), remote.Target{Revision: "tree"})
	wantError(t, err, "no commit")
}

func TestSHA256(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	if err := os.RemoveAll(repo.Dir()); err != nil {
		t.Fatal(err)
	}
	plumb(t, repo, "", "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=main", repo.Dir())
	commit := repo.Commit(t, map[string]string{"f": "x"})
	for _, target := range []remote.Target{onMain, {Revision: commit}, {Revision: commit[:9]}} {
		got, dir, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), target)
		if err != nil || got != commit || len(got) != 64 {
			t.Fatalf("%+v: got %s, %v", target, got, err)
		}
		wantFiles(t, dir, map[string]string{"f": "x"})
	}
}
