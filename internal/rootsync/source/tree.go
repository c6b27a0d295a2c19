// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"sync"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// Tree are the files of a commit. Nobody changes it.
type Tree struct {
	// Commit is the hash of a commit, or the digest of an image without "sha256:".
	Commit string
	// Dir is a read-only folder. Links in it may lead outside: it is to be read by an os.Root.
	Dir string

	store *store
	holds int // guarded by store.mu
}

// store keeps the folders of trees as long as somebody holds them.
type store struct {
	mu       sync.Mutex
	removals sync.WaitGroup
	ended    bool
}

// end waits for what is being removed. Nothing is from then on.
func (s *store) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.removals.Wait()
}

// Hold keeps the folder until Release, whatever the source does meanwhile. It says false
// if it is gone already: then there is a later tree.
func (t *Tree) Hold() bool {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.holds == 0 {
		return false
	}
	t.holds++
	return true
}

// Release ends one Hold.
func (t *Tree) Release() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.holds--
	if t.holds == 0 && !t.store.ended {
		t.store.removals.Go(func() { _ = remote.RemoveAll(t.Dir) }) // what is left goes with the next start
	}
}
