// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

func TestMain(m *testing.M) {
	if code, started := helper.Main(); started {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// opened is a Repository in a folder of the test.
func opened(t *testing.T, o Options, r Remote) *Repository {
	t.Helper()
	o.AllowFile = true
	out, err := Open(o, r, filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fetched polls, resolves and exports.
func fetched(t *testing.T, r *Repository, target remote.Target) (commit, dir string, err *knv.Error) {
	t.Helper()
	if err := r.Poll(t.Context(), []remote.Target{target}); err != nil {
		return "", "", err
	}
	commit, err = r.Resolve(t.Context(), target)
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(t.TempDir(), "tree")
	t.Cleanup(func() { _ = remote.RemoveAll(dir) })
	return commit, dir, r.Export(t.Context(), target, commit, dir)
}

// files are the contents of a folder by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(filepath.Join(dir, name))
			out[name] = "-> " + target
			return err
		case e.IsDir():
			if entries, _ := os.ReadDir(filepath.Join(dir, name)); len(entries) == 0 {
				out[name] = "(empty)"
			}
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func wantError(t *testing.T, err *knv.Error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	if err.Code != knv.Source {
		t.Errorf("code %s", err.Code)
	}
	for _, w := range words {
		if !strings.Contains(err.Text, w) {
			t.Errorf("got %q, want it to have %q", err.Text, w)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	one := repo.Commit(t, map[string]string{"f": "one"})
	two := repo.Commit(t, map[string]string{"f": "two"})
	three := repo.Commit(t, map[string]string{"f": "three"})
	side := repo.Branch("side/a").Commit(t, map[string]string{"f": "side"})
	repo.Tag(t, "light", one, "")
	repo.Tag(t, "v1", two, "a message")
	repo.Branch("both").Commit(t, map[string]string{"f": "branch"})
	repo.Tag(t, "both", one, "")
	server.Repo(t, "r").Branch("x")
	tests := []struct {
		name   string
		target remote.Target
		commit string
	}{
		{"a branch", remote.Target{Branch: "main"}, three},
		{"a branch with a slash", remote.Target{Branch: "side/a"}, side},
		{"HEAD is no revision", remote.Target{Branch: "side/a", Revision: "HEAD"}, side},
		{"nothing is the HEAD of the repository", remote.Target{}, three},
		{"a tag", remote.Target{Branch: "main", Revision: "light"}, one},
		{"a tag with a message", remote.Target{Branch: "main", Revision: "v1"}, two},
		{"a branch as revision", remote.Target{Branch: "main", Revision: "side/a"}, side},
		{"a tag comes before a branch of the name", remote.Target{Branch: "main", Revision: "both"}, one},
		{"the full name of a ref", remote.Target{Revision: "refs/heads/side/a"}, side},
		{"the last commit in full", remote.Target{Revision: three}, three},
		{"an old commit in full", remote.Target{Revision: two}, two},
		{"the last commit abbreviated", remote.Target{Revision: three[:8]}, three},
		{"an old commit abbreviated", remote.Target{Revision: two[:8], Depth: 500}, two},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			commit, dir, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), tt.target)
			if err != nil {
				t.Fatal(err)
			}
			content := map[string]string{one: "one", two: "two", three: "three", side: "side"}[tt.commit]
			if commit != tt.commit {
				t.Errorf("got commit %s, want %s", commit, tt.commit)
			}
			wantFiles(t, dir, map[string]string{"f": content})
		})
	}
	for name, tt := range map[string]struct {
		target remote.Target
		words  []string
	}{
		"a branch that is not there":                     {remote.Target{Branch: "nope"}, []string{`no branch "nope"`, "but both, main, side/a", "spec.git.branch"}},
		"a revision that is not there":                   {remote.Target{Revision: "v99"}, []string{`"v99"`, "spec.git.revision"}},
		"a commit that is not there":                     {remote.Target{Revision: strings.Repeat("0123456789", 4)}, []string{"no commit 0123", "spec.git.revision"}},
		"an abbreviated commit that is not there":        {remote.Target{Revision: "abcdef0"}, []string{`"abcdef0"`, "gitSyncDepth"}},
		"an abbreviated commit that is beyond the depth": {remote.Target{Revision: one[:8], Depth: 1, Branch: "x"}, nil},
		"a branch that is an option":                     {remote.Target{Branch: "--upload-pack=touch /tmp/x"}, []string{"no branch"}},
		"a revision that is an option":                   {remote.Target{Revision: "--exec=x"}, []string{"no tag"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "an abbreviated commit that is beyond the depth" {
				tt.target.Revision, tt.words = two[:8], nil
				own := server.Repo(t, "deep")
				old := own.Commit(t, map[string]string{"f": "1"})
				own.Commit(t, map[string]string{"f": "2"})
				_, _, err := fetched(t, opened(t, Options{}, Remote{URL: own.URL()}), remote.Target{Revision: old[:8], Depth: 1})
				wantError(t, err, "gitSyncDepth")
				return
			}
			_, _, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), tt.target)
			wantError(t, err, tt.words...)
		})
	}
}

func TestFetch_isShallowAndBringsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	for i := range 20 {
		repo.Change(t, map[string]string{fmt.Sprint(i): strings.Repeat("x", i)})
	}
	r := opened(t, Options{}, Remote{URL: repo.URL()})
	for i := range 3 {
		commit := repo.Change(t, map[string]string{"new": fmt.Sprint(i)})
		got, dir, err := fetched(t, r, remote.Target{Branch: "main"})
		if err != nil {
			t.Fatal(err)
		}
		if got != commit || len(files(t, dir)) != 19+1 { // the file without content is not there
			t.Errorf("got commit %s, want %s; %d files", got, commit, len(files(t, dir)))
		}
	}
	count, err := r.read(t.Context(), 1<<10, r.withGitDir(), "rev-list", "--count", "--all")
	if err != nil || strings.TrimSpace(string(count)) != "3" {
		t.Errorf("own repository has %q commits, %v; want 3", count, err)
	}
	if want := (gitserver.Counts{Lists: 3, Fetches: 3}); repo.Counts() != want {
		t.Errorf("got %+v, want %+v", repo.Counts(), want)
	}
}

func TestFetch_fromAServerThatDoesNotGiveAwayEveryCommit(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	server.SetFault(gitserver.Fault{Old: true})
	repo := server.Repo(t, "r")
	old := repo.Commit(t, map[string]string{"f": "old"})
	repo.Commit(t, map[string]string{"f": "new"})
	for _, depth := range []int{0, 500} {
		_, dir, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), remote.Target{Revision: old, Depth: depth})
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, dir, map[string]string{"f": "old"})
	}
	_, _, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), remote.Target{Revision: old, Depth: 1})
	wantError(t, err, "no commit "+old, "gitSyncDepth")
}

func TestForcePush(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	r := opened(t, Options{}, Remote{URL: repo.URL()})
	if _, _, err := fetched(t, r, remote.Target{Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	want := repo.Rewrite(t, map[string]string{"g": "2"})
	commit, dir, err := fetched(t, r, remote.Target{Branch: "main"})
	if err != nil || commit != want {
		t.Fatalf("got %s, %v", commit, err)
	}
	wantFiles(t, dir, map[string]string{"g": "2"})
}

func TestTree(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	limits := remote.Limits{TreeFiles: 50, TreeBytes: 1 << 20, FetchBytes: 4 << 20}
	many := map[string]string{}
	for i := range 60 {
		many[fmt.Sprintf("d/%d", i)] = "x"
	}
	tests := []struct {
		name  string
		files map[string]string
		want  map[string]string
		words []string
	}{
		{
			name:  "links that stay inside or lead out, attributes and a submodule",
			files: map[string]string{"d/f": "x\r\n", "l": gitserver.Symlink("d/f"), "d/up": gitserver.Symlink(".."), "d/out": gitserver.Symlink("../../etc/passwd"), "absolute": gitserver.Symlink("/etc/passwd"), ".gitattributes": "* export-ignore text eol=lf filter=lfs\n", "sub": gitserver.Submodule(strings.Repeat("a", 40))},
			want:  map[string]string{"d/f": "x\r\n", "l": "-> d/f", "d/up": "-> ..", "d/out": "-> ../../etc/passwd", "absolute": "-> /etc/passwd", ".gitattributes": "* export-ignore text eol=lf filter=lfs\n", "sub/.git": "submodule " + strings.Repeat("a", 40)},
		},
		{name: "names with everything that may be in one", files: map[string]string{"a b/\u00fc\n\t\"x\"": "1", "-rf": "2"}, want: map[string]string{"a b/\u00fc\n\t\"x\"": "1", "-rf": "2"}},
		{name: "a file that is too large", files: map[string]string{"big": strings.Repeat("x", 2<<20)}, words: []string{"cannot be used", "more than 1 MiB"}},
		{name: "too many files", files: many, words: []string{"more than 50 files"}},
	}
	for i, tt := range tests {
		repo := server.Repo(t, fmt.Sprint(i))
		for name, content := range tt.files {
			// fast-import takes names with special characters in quotes only.
			if strings.ContainsAny(name, "\n\"") {
				delete(tt.files, name)
				tt.files["\""+strings.NewReplacer("\n", `\n`, "\t", `\t`, "\"", `\"`).Replace(name)+"\""] = content
			}
		}
		repo.Commit(t, tt.files)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, dir, err := fetched(t, opened(t, Options{Limits: limits}, Remote{URL: repo.FileURL()}), remote.Target{Branch: "main"})
			if tt.words != nil {
				wantError(t, err, tt.words...)
				if !remote.IsContent(err) {
					t.Error("it is to be tried again only with another commit")
				}
				if _, err := os.Stat(dir); err == nil {
					t.Error("what was written of it is still there")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, tt.want)
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o500 {
				t.Errorf("the folder is not read-only: %v, %v", info, err)
			}
		})
	}
}

// noise is what cannot be compressed.
func noise(n int) string {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(out)
	return string(out)
}

func TestFetch_thatBringsTooMuch(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"noise": noise(4 << 20)})
	r := opened(t, Options{Limits: remote.Limits{FetchBytes: 1 << 20, TreeBytes: 1 << 20}}, Remote{URL: repo.URL()})
	_, _, err := fetched(t, r, remote.Target{Branch: "main"})
	wantError(t, err, "one fetch may bring 1 MiB")
	if !remote.IsContent(err) {
		t.Error("it is to be tried again only with another commit")
	}
	repo.Rewrite(t, map[string]string{"f": "small"})
	_, dir, err := fetched(t, r, remote.Target{Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"f": "small"})
}

func TestThousandsOfFiles(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	want := map[string]string{}
	n := 5000
	if testing.Short() {
		n = 1000
	}
	for i := range n {
		want[fmt.Sprintf("d%d/%d.yaml", i%50, i)] = fmt.Sprintf("n: %d\n", i)
	}
	repo.Commit(t, want)
	_, dir, err := fetched(t, opened(t, Options{}, Remote{URL: repo.URL()}), remote.Target{Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, want)
}

func TestWornOut_beginsAnew(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	r := opened(t, Options{}, Remote{URL: repo.FileURL()})
	for i := range maxPacks + 3 {
		repo.Commit(t, map[string]string{"f": fmt.Sprint(i + 1)})
		if _, _, err := fetched(t, r, remote.Target{Branch: "main"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := r.packs(); n > 3 {
		t.Errorf("%d packs are kept", n)
	}
}

func TestOwnRepository_thatIsBrokenIsMadeAnew(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	r := opened(t, Options{}, Remote{URL: repo.FileURL()})
	if _, _, err := fetched(t, r, remote.Target{Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.gitDir(), "HEAD"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	repo.Commit(t, map[string]string{"f": "2"})
	var dir string
	for range 2 { // the first try finds out
		var err *knv.Error
		if _, dir, err = fetched(t, r, remote.Target{Branch: "main"}); err == nil {
			break
		}
	}
	wantFiles(t, dir, map[string]string{"f": "2"})
}

func TestContext_endsEverything(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "1"})
	server.SetFault(gitserver.Fault{Stall: true})
	r := opened(t, Options{ListTimeout: 300 * time.Millisecond}, Remote{URL: repo.URL()})
	wantError(t, r.Poll(t.Context(), []remote.Target{{}}), "did not answer in time")
	ctx, cancel := context.WithCancel(t.Context())
	r = opened(t, Options{}, Remote{URL: repo.URL()})
	time.AfterFunc(200*time.Millisecond, cancel)
	wantError(t, r.Poll(ctx, []remote.Target{{}}), "Holdfast ends")
}
