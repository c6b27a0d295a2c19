// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

const (
	// maxPacks is how many fetches the own repository keeps. Then it begins anew, which
	// costs one whole fetch and saves the memory and the time of tidying up.
	maxPacks = 20
	// watchInterval is how often the size of what comes is looked at.
	watchInterval = 100 * time.Millisecond
	// everything is a depth that git takes for the whole history.
	everything = 1<<31 - 1
	// kept is where the refs of fetched commits are, so that the next fetch brings only
	// what is new.
	kept = "refs/holdfast/"
)

// fetchCommit gets one commit without its history. A server that does not give away a
// commit by its name alone gives its branches.
func (r *Repository) fetchCommit(ctx context.Context, id string, depth int) error {
	if _, err := r.commitOf(ctx, id); err == nil {
		return nil
	}
	err := r.fetch(ctx, id, 1, "+"+id+":"+kept+id)
	if !isUnadvertised(err) {
		return err
	}
	return r.fetchHistory(ctx, id, depth)
}

// fetchHistory gets the last commits of all branches and tags; 0 is all of them. The id
// is one of the server's, whichever.
func (r *Repository) fetchHistory(ctx context.Context, id string, depth int) error {
	if depth <= 0 {
		depth = everything
	}
	return r.fetch(ctx, id, depth, "+"+heads+"*:"+kept+"heads/*", "+"+tags+"*:"+kept+"tags/*")
}

// fetch runs one bounded "git fetch". After one that fails the own repository is as
// before it, or gone.
func (r *Repository) fetch(ctx context.Context, id string, depth int, refspecs ...string) error {
	if err := r.prepare(ctx, id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.FetchTimeout, errTimeout)
	defer cancel()
	_, before := r.packs()
	ctx, stop := r.bounded(ctx, before)
	defer stop()
	args := []string{
		r.withGitDir(), "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--depth=" + strconv.Itoa(depth),
	}
	err := r.ask(ctx, nil, append(append(args, "--", r.address.url), refspecs...)...)
	if _, size := r.packs(); err == nil && size-before > r.options.Limits.FetchBytes {
		err = errTooLarge // it came faster than it was looked at
	}
	switch {
	case err == nil:
		return nil
	case isElsewhere(err):
		r.sweep()
	default:
		// It may be the own repository that is broken.
		_ = remote.RemoveAll(r.gitDir())
	}
	return err
}

// prepare makes the own repository, in the format of the server's commits, if there is
// none or it is worn out.
func (r *Repository) prepare(ctx context.Context, id string) error {
	packs, size := r.packs()
	if packs > maxPacks || size > 2*r.options.Limits.FetchBytes {
		if err := remote.RemoveAll(r.gitDir()); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(r.gitDir(), "HEAD")); err == nil {
		return nil
	}
	format := "sha1"
	if len(id) > 40 {
		format = "sha256"
	}
	return r.run(ctx, nil, nil, nil, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--", r.gitDir())
}

// packs are how many packs there are, and the size of all.
func (r *Repository) packs() (n int, size int64) {
	entries, err := os.ReadDir(filepath.Join(r.gitDir(), "objects", "pack"))
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		if strings.HasSuffix(e.Name(), ".pack") {
			n++
		}
	}
	return n, size
}

// bounded ends the context when more comes than may: git has no such limit itself.
func (r *Repository) bounded(ctx context.Context, before int64) (out context.Context, stop func()) {
	out, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		for {
			select {
			case <-out.Done():
				return
			case <-ticker.C:
				if _, size := r.packs(); size-before > r.options.Limits.FetchBytes {
					cancel(errTooLarge)
				}
			}
		}
	}()
	return out, func() {
		cancel(nil)
		<-done
	}
}

// sweep removes what a fetch that was killed has left: locks, and parts of packs.
func (r *Repository) sweep() {
	root, err := os.OpenRoot(r.gitDir())
	if err != nil {
		return // there is none
	}
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.HasSuffix(name, ".lock") || strings.HasPrefix(e.Name(), "tmp_")) {
			_ = root.Remove(name)
		}
		return nil
	})
	_ = root.Close()
}
