// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// maxList is how long the list of refs of a server may be.
const maxList = 64 << 20

// Repository is what is known of a remote one, and a bare repository with the commits
// that were fetched. It is for one goroutine.
type Repository struct {
	options Options
	remote  Remote
	address address
	dir     string
	env     []string

	// asking says that git asks for the credentials, and does not send them unasked. That
	// costs two processes and one request more each time, and git knows by it which
	// server asks: it is for repositories that send on to another address.
	asking bool

	refs   refs
	all    bool                         // whether refs has more than branches and tags
	listed [sha256.Size]byte            // what refs was made of
	found  map[string]string            // abbreviated commits in full
	missed map[string][sha256.Size]byte // those that were not found, with listed of that time
}

// Open makes a Repository that has a folder for itself, which must not exist yet.
func Open(o Options, r Remote, dir string) (*Repository, *knv.Error) {
	o = o.orDefaults()
	a, err := parseAddress(r.URL)
	if err == nil && a.scheme == "file" && !o.AllowFile {
		err = errors.New("a folder of the machine that Holdfast runs on is no source, unless rootSync.allowFileSources in its configuration says so when the sync starts")
	}
	if err != nil {
		return nil, knv.New(knv.Source, "the address of the Git repository cannot be used: %v; correct spec.git.repo", err).Because(err)
	}
	out := &Repository{
		options: o, remote: r, address: a, dir: dir,
		found: map[string]string{}, missed: map[string][sha256.Size]byte{},
	}
	if err := out.settle(); err != nil {
		return nil, knv.New(knv.Source, "cannot prepare a folder for the Git repository %s: %v", a.url, err).Because(err)
	}
	return out, nil
}

func (r *Repository) home() string       { return filepath.Join(r.dir, "home") }
func (r *Repository) gitDir() string     { return filepath.Join(r.dir, "repository") }
func (r *Repository) caFile() string     { return filepath.Join(r.dir, "ca.pem") }
func (r *Repository) hostsFile() string  { return filepath.Join(r.dir, "known_hosts") }
func (r *Repository) withGitDir() string { return "--git-dir=" + r.gitDir() }

// settle makes the folder and the environment. What is in its files is no secret.
func (r *Repository) settle() error {
	if err := os.MkdirAll(r.home(), 0o700); err != nil {
		return err
	}
	r.env = environment(r.options, r.remote, r.home())
	if r.remote.CA != "" {
		if err := os.WriteFile(r.caFile(), []byte(r.remote.CA), 0o600); err != nil {
			return err
		}
		r.env = append(r.env, "GIT_SSL_CAINFO="+r.caFile())
	}
	if r.address.scheme == "ssh" && r.remote.KnownHosts != "" {
		return os.WriteFile(r.hostsFile(), []byte(r.remote.KnownHosts), 0o600)
	}
	return nil
}

// credentials is the environment of a git that speaks to the server.
func (r *Repository) credentials() []string {
	user, pass := r.login()
	switch {
	case r.address.scheme == "ssh":
		hosts := ""
		if r.remote.KnownHosts != "" {
			hosts = r.hostsFile()
		}
		return helper.SSH(r.options.Helper, string(r.remote.PrivateKey), hosts)
	case r.address.scheme != "https" && r.address.scheme != "http", pass == "":
		return nil
	case r.asking:
		return helper.Askpass(r.options.Helper, r.address.origin(), user, pass)
	}
	// The header would go wherever the server sends git on to.
	return configured(len(configuration(r.remote.Proxy)),
		[2]string{"http.followRedirects", "false"}, [2]string{"http.extraHeader", "Authorization: " + basic(user, pass)})
}

func basic(user, pass string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+pass))
}

// ask runs git where it speaks to the server.
func (r *Repository) ask(ctx context.Context, out io.Writer, args ...string) error {
	err := r.run(ctx, r.credentials(), nil, out, args...)
	if !r.asking && isRedirect(err) {
		r.asking = true
		err = r.run(ctx, r.credentials(), nil, out, args...)
	}
	return err
}

// login is the user name and the password for https. Those of the Secret come before
// those in the URL.
func (r *Repository) login() (user, pass string) {
	if r.remote.Password != "" {
		return cmp.Or(string(r.remote.Username), r.address.username, "git"), string(r.remote.Password)
	}
	return cmp.Or(r.address.username, "git"), r.address.password
}

// Poll asks the server what it has, if any of the targets can change at all.
func (r *Repository) Poll(ctx context.Context, targets []remote.Target) *knv.Error {
	all, changing := false, false
	for _, t := range targets {
		all = all || beyond(t)
		changing = changing || !fixed(t)
	}
	if !changing {
		return nil
	}
	args := []string{"ls-remote", "--quiet"}
	if !all {
		args = append(args, "--heads", "--tags")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.ListTimeout, errTimeout)
	defer cancel()
	out := &limited{left: maxList}
	if err := r.ask(ctx, out, append(args, "--", r.address.url)...); err != nil {
		return r.explain(out.or(err))
	}
	list, err := parseRefs(out.Bytes())
	if err != nil {
		return r.explain(err)
	}
	r.refs, r.all, r.listed = list, all, sha256.Sum256(out.Bytes())
	return nil
}

// Known says whether the last Poll, if there was one, has to do with a target.
func (r *Repository) Known(t remote.Target) bool {
	return fixed(t) || r.refs != nil && (r.all || !beyond(t))
}

// Fixed says whether a target never changes.
func (*Repository) Fixed(t remote.Target) bool { return fixed(t) }

// Resolve is the commit of a target, by what the last Poll has found. For an abbreviated
// commit it looks through the history, once for each state of the server.
func (r *Repository) Resolve(ctx context.Context, t remote.Target) (string, *knv.Error) {
	if id := r.refs.find(t); id != "" {
		return id, nil
	}
	name, branch := wanted(t)
	switch {
	case len(r.refs) == 0:
		return "", missing("the Git repository %s is empty; push a commit", r.address.url)
	case branch:
		return "", missing("the Git repository %s has no branch %q, but %s; correct spec.git.branch, or push it", r.address.url, name, r.refs.names())
	case !isShort(name):
		return "", missing("the Git repository %s has no tag, branch or commit %q; correct spec.git.revision, or push it", r.address.url, name)
	}
	return r.search(ctx, name, t.Depth)
}

func missing(format string, args ...any) *knv.Error {
	return knv.New(knv.Source, format, args...).Because(remote.ErrMissing)
}

// search looks for an abbreviated commit in the history.
func (r *Repository) search(ctx context.Context, short string, depth int) (string, *knv.Error) {
	if id := r.found[short]; id != "" {
		return id, nil
	}
	notFound := missing("the Git repository %s has no tag or branch %q, and no commit that begins with it among the last of each branch; "+
		"give the commit in full in spec.git.revision, or raise spec.override.gitSyncDepth", r.address.url, short)
	if r.missed[short] == r.listed {
		return "", notFound
	}
	if err := r.fetchHistory(ctx, r.refs.any(), depth); err != nil {
		return "", r.explain(err)
	}
	id, err := r.commitOf(ctx, short)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", r.explain(err)
	case err != nil:
		r.missed[short] = r.listed
		return "", notFound
	}
	r.found[short] = id
	return id, nil
}

// commitOf is the commit of a name in the own repository.
func (r *Repository) commitOf(ctx context.Context, name string) (string, error) {
	out, err := r.read(ctx, 1<<10, r.withGitDir(), "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", err
	}
	id := string(out[:max(0, len(out)-1)])
	if !full.MatchString(id) {
		return "", fmt.Errorf("%q is no commit", id)
	}
	return id, nil
}
