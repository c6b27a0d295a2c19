// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The beginnings of contents that are no files.
const (
	link      = "\x00link "
	submodule = "\x00submodule "
)

// Symlink is the content of a symbolic link.
func Symlink(target string) string { return link + target }

// Submodule is the content of the place of a submodule.
func Submodule(commit string) string { return submodule + commit }

// Repo is a repository, and one branch of it that is written to.
type Repo struct {
	server *Server
	name   string
	branch string
}

// Repo is the repository of a name, with the branch "main". It is made if it is not there.
func (s *Server) Repo(t TB, name string) *Repo {
	t.Helper()
	r := &Repo{server: s, name: name, branch: "main"}
	if _, err := os.Stat(r.Dir()); err == nil {
		return r
	}
	if _, err := s.git(context.Background(), "", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", r.Dir()); err != nil {
		t.Fatal(err)
	}
	return r
}

// Branch is the same repository with another branch.
func (r *Repo) Branch(name string) *Repo { return &Repo{server: r.server, name: r.name, branch: name} }

// URL is its address on the server.
func (r *Repo) URL() string { return r.server.URL() + "/" + r.name + ".git" }

// Dir is its folder, FileURL the address of that.
func (r *Repo) Dir() string { return filepath.Join(r.server.dir, r.name+".git") }

// FileURL is its address on this machine.
func (r *Repo) FileURL() string { return "file://" + r.Dir() }

// Counts are what the server was asked of it.
func (r *Repo) Counts() Counts { return r.server.Counts(r.name) }

// Commit makes a commit with these files and no other ones on top of the branch.
func (r *Repo) Commit(t TB, files map[string]string) (commit string) {
	t.Helper()
	return r.write(t, files, true, r.tip())
}

// Change makes a commit that changes only these files; those without content go.
func (r *Repo) Change(t TB, files map[string]string) (commit string) {
	t.Helper()
	return r.write(t, files, false, r.tip())
}

// Rewrite is a force-push: a commit with these files that has no parent.
func (r *Repo) Rewrite(t TB, files map[string]string) (commit string) {
	t.Helper()
	return r.write(t, files, true, "")
}

// Reset sets the branch to a commit.
func (r *Repo) Reset(t TB, commit string) {
	t.Helper()
	r.must(t, "", "update-ref", "refs/heads/"+r.branch, commit)
}

// Drop removes the branch.
func (r *Repo) Drop(t TB) {
	t.Helper()
	r.must(t, "", "update-ref", "-d", "refs/heads/"+r.branch)
}

// Tag names a commit, with a message of its own if there is one.
func (r *Repo) Tag(t TB, name, commit, message string) {
	t.Helper()
	args := []string{"-c", "user.name=t", "-c", "user.email=t@example.com", "tag", "--force", name, commit}
	if message != "" {
		args = append(args, "--annotate", "--message="+message)
	}
	r.must(t, "", args...)
}

// Tip is the last commit of the branch, "" if there is none.
func (r *Repo) tip() string {
	id, err := r.server.git(context.Background(), "", "--git-dir="+r.Dir(), "rev-parse", "--verify", "--quiet", "refs/heads/"+r.branch)
	if err != nil {
		return ""
	}
	return id
}

func (r *Repo) must(t TB, in string, args ...string) string {
	t.Helper()
	out, err := r.server.git(context.Background(), in, append([]string{"--git-dir=" + r.Dir()}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write makes a commit without a work tree, however many files there are.
func (r *Repo) write(t TB, files map[string]string, whole bool, parent string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "feature done\ncommit refs/heads/%s\ncommitter t <t@example.com> now\ndata 1\n.\n", r.branch)
	if parent != "" {
		fmt.Fprintf(&b, "from %s\n", parent)
	}
	if whole {
		b.WriteString("deleteall\n")
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		content := files[path]
		switch {
		case content == "":
			fmt.Fprintf(&b, "D %s\n", path)
		case strings.HasPrefix(content, submodule):
			fmt.Fprintf(&b, "M 160000 %s %s\n", strings.TrimPrefix(content, submodule), path)
		case strings.HasPrefix(content, link):
			content = strings.TrimPrefix(content, link)
			fmt.Fprintf(&b, "M 120000 inline %s\ndata %d\n%s\n", path, len(content), content)
		default:
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		}
	}
	b.WriteString("done\n")
	r.must(t, b.String(), "fast-import", "--quiet", "--force", "--date-format=now")
	return r.tip()
}
