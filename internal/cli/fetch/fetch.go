// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fetch fetches a source for a command, once, as the sync follows it.
package fetch

import (
	"context"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Checkout are the files of a source.
type Checkout struct {
	Dir string
	// Commit is empty where it is not known.
	Commit string
	// Done takes away what was fetched.
	Done func()
}

// Newest fetches what the source has now into a folder of its own, which is taken away also
// when the context ends first.
func Newest(ctx context.Context, from spec.Source, credentials spec.Credentials) (*Checkout, error) {
	dir, err := os.MkdirTemp("", "kubectl-holdfast-")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	cache, err := source.New(ctx, source.Options{Dir: filepath.Join(dir, "sources")})
	if err != nil {
		stop()
		_ = os.RemoveAll(dir)
		return nil, err
	}
	done := func() {
		stop()
		cache.Wait()
		_ = os.RemoveAll(dir)
	}
	out, err := first(ctx, cache, source.Of(from, credentials))
	if err != nil {
		done()
		return nil, err
	}
	out.Done = done
	return out, nil
}

// first waits until the source has been looked at once.
func first(ctx context.Context, cache *source.Cache, from source.Spec) (*Checkout, error) {
	told := make(chan struct{}, 1)
	followed := cache.Subscribe(from, func() {
		select {
		case told <- struct{}{}:
		default: // it will look
		}
	})
	for {
		if tree := followed.Hold(); tree != nil { // as long as the cache is there
			return &Checkout{Dir: tree.Dir, Commit: tree.Commit}, nil
		}
		if _, _, wrong := followed.Latest(); wrong != nil {
			return nil, wrong
		}
		select {
		case <-told:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
