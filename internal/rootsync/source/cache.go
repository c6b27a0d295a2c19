// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// Cache follows sources until its context ends.
type Cache struct {
	ctx     context.Context //nolint:containedctx // everything ends with it
	options Options
	store   *store
	lists   chan struct{}
	fetches chan struct{}
	running sync.WaitGroup

	mu        sync.Mutex
	followers map[Remote]*follower
	folders   int
	ended     bool
}

// New makes a Cache, and removes what an earlier process has left in its folder. Its
// work, and its folder, end some time after the context does: Wait tells when.
func New(ctx context.Context, o Options) (*Cache, error) {
	if err := remote.RemoveAll(o.Dir); err != nil {
		return nil, fmt.Errorf("remove what an earlier process has left: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for sources: %w", err)
	}
	o.Retry = cmp.Or(o.Retry, time.Second)
	return &Cache{
		ctx: ctx, options: o, store: &store{},
		lists: make(chan struct{}, cmp.Or(o.Lists, 8)), fetches: make(chan struct{}, cmp.Or(o.Fetches, 3)),
		followers: map[Remote]*follower{},
	}, nil
}

// Wait returns when the context has ended and nothing is under way any more.
func (c *Cache) Wait() {
	<-c.ctx.Done()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.running.Wait()
	c.store.end()
	_ = remote.RemoveAll(c.options.Dir)
}

// Subscription is one that follows a source.
type Subscription struct {
	spec     Spec
	follower *follower
	notify   func()
}

// Subscribe follows a source. Notify is called after each change of what Latest says; it
// must not block, and may be called once more while Close runs. A subscription for
// another spec should be made before the former one is closed, so that they share what
// was fetched.
func (c *Cache) Subscribe(spec Spec, notify func()) *Subscription {
	spec.Period = cmp.Or(spec.Period, DefaultPeriod)
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.followers[spec.Remote]
	if f == nil {
		f = c.follow(spec.Remote)
		c.followers[spec.Remote] = f
	}
	s := &Subscription{spec: spec, follower: f, notify: notify}
	f.subscribers[s] = struct{}{}
	if f.wants[spec.Target] == nil {
		f.wants[spec.Target] = &want{since: time.Now()}
	}
	f.wakeUp()
	return s
}

// follow starts to follow a remote.
func (c *Cache) follow(r Remote) *follower {
	ctx, cancel := context.WithCancel(c.ctx)
	f := &follower{
		cache: c, remote: r, dir: c.folder(), cancel: cancel, wake: make(chan struct{}, 1),
		subscribers: map[*Subscription]struct{}{}, wants: map[remote.Target]*want{},
	}
	if !c.ended {
		c.running.Go(func() { f.run(ctx) })
	}
	return f
}

// folder is a new name in the folder of the Cache, which has the mutex.
func (c *Cache) folder() string {
	c.folders++
	return filepath.Join(c.options.Dir, strconv.Itoa(c.folders))
}

// newFolder is folder for who does not have the mutex.
func (c *Cache) newFolder() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.folder()
}

// Latest is what the source has: the last files that were good, since when this is what
// is known, and what is wrong now. There is neither before the first look has ended. The
// folder of the tree is there as long as the tree is the latest: who reads it takes it by
// Hold.
func (s *Subscription) Latest() (tree *Tree, at time.Time, err *knv.Error) {
	s.follower.cache.mu.Lock()
	defer s.follower.cache.mu.Unlock()
	w := s.follower.wants[s.spec.Target]
	if w == nil {
		return nil, time.Time{}, nil // it is closed
	}
	return w.tree, w.at, w.err
}

// Hold is the tree of Latest, held until its Release; nil if there is none.
func (s *Subscription) Hold() *Tree {
	s.follower.cache.mu.Lock()
	defer s.follower.cache.mu.Unlock()
	if w := s.follower.wants[s.spec.Target]; w != nil && w.tree != nil && w.tree.Hold() {
		return w.tree
	}
	return nil
}

// Now looks at the source at once. What it returns is for Looked.
func (s *Subscription) Now() (look int) {
	s.follower.cache.mu.Lock()
	defer s.follower.cache.mu.Unlock()
	s.follower.asked++
	s.follower.wakeUp()
	return s.follower.asked
}

// Looked says whether a look that Now asked for, or a later one, has ended, well or not:
// Latest says what it has shown. When it ends that is told by notify.
func (s *Subscription) Looked(look int) bool {
	s.follower.cache.mu.Lock()
	defer s.follower.cache.mu.Unlock()
	return s.follower.answered >= look
}

// Close ends the subscription. The last one of a source ends the following of it.
func (s *Subscription) Close() {
	c, f := s.follower.cache, s.follower
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := f.subscribers[s]; !open {
		return
	}
	delete(f.subscribers, s)
	for other := range f.subscribers {
		if other.spec.Target == s.spec.Target {
			return
		}
	}
	if w := f.wants[s.spec.Target]; w.tree != nil {
		w.tree.Release()
	}
	delete(f.wants, s.spec.Target)
	if len(f.subscribers) == 0 {
		f.cancel()
		delete(c.followers, f.remote)
	}
}

// take waits for one of the slots, and says false if the context ends before.
func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
