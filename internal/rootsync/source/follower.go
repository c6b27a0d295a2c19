// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// follower looks at one remote for all who want something of it.
type follower struct {
	cache  *Cache
	remote Remote
	dir    string
	cancel context.CancelFunc
	wake   chan struct{}

	// Guarded by the mutex of the cache:
	subscribers map[*Subscription]struct{}
	wants       map[remote.Target]*want
	// asked counts the looks that somebody wanted at once, and answered is how many of
	// them have ended.
	asked, answered int

	// Of its own goroutine:
	backend backend
	polled  time.Time // when the last look at the server was
	next    time.Time // when the next one is due; zero: at once
	failed  *knv.Error
	errors  int
}

// want is what one target has come to. Its first part is guarded by the mutex of the
// cache, its second belongs to the follower's goroutine.
type want struct {
	tree *Tree
	err  *knv.Error
	at   time.Time

	since  time.Time  // when somebody first wanted it
	failed *knv.Error // what is wrong with it, apart from the server
	bad    string     // a commit that can never be used
	errors int
	retry  time.Time // not before this
}

// wakeUp has the follower look for something to do.
func (f *follower) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default: // it will look, and see this too
	}
}

// run follows the remote until the context ends.
func (f *follower) run(ctx context.Context) {
	f.backend = f.cache.options.open(f.remote, f.dir)
	defer func() { _ = remote.RemoveAll(f.dir) }() // what is left goes with the next start
	for ctx.Err() == nil {
		next := f.turn(ctx)
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-f.wake:
		}
		timer.Stop()
	}
}

// turn does what is due, and says when something is due again.
func (f *follower) turn(ctx context.Context) time.Time {
	targets, every, asked, forced := f.wanted()
	if f.due(targets, forced) {
		f.poll(ctx, targets, every)
	}
	if forced {
		defer f.answer(asked)
	}
	if ctx.Err() != nil {
		return time.Time{}
	}
	var soonest time.Time
	for _, t := range targets {
		if f.failed != nil && !f.backend.Fixed(t) {
			f.publish(t, nil, f.failed)
			continue
		}
		if retry := f.update(ctx, t, forced); !retry.IsZero() && (soonest.IsZero() || retry.Before(soonest)) {
			soonest = retry
		}
	}
	if soonest.IsZero() || f.next.Before(soonest) {
		return f.next
	}
	return soonest
}

// wanted is what somebody wants, how often to look, and whether somebody has asked for
// a look now.
func (f *follower) wanted() (targets []remote.Target, every time.Duration, asked int, forced bool) {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	for t := range f.wants {
		targets = append(targets, t)
	}
	for s := range f.subscribers {
		if every == 0 || s.spec.Period < every {
			every = s.spec.Period
		}
	}
	// Somebody may have come who does not want to wait as long as those before.
	if soon := f.polled.Add(every); f.failed == nil && soon.Before(f.next) {
		f.next = soon
	}
	return targets, every, f.asked, f.asked > f.answered
}

// answer tells those who wanted a look at once that it has ended.
func (f *follower) answer(asked int) {
	f.cache.mu.Lock()
	f.answered = asked
	var tell []func()
	for s := range f.subscribers {
		tell = append(tell, s.notify)
	}
	f.cache.mu.Unlock()
	for _, notify := range tell {
		notify()
	}
}

// due says whether the server is to be asked.
func (f *follower) due(targets []remote.Target, forced bool) bool {
	if forced || !time.Now().Before(f.next) {
		return true
	}
	for _, t := range targets {
		if f.failed == nil && !f.backend.Known(t) {
			return true
		}
	}
	return false
}

// poll asks the server.
func (f *follower) poll(ctx context.Context, targets []remote.Target, every time.Duration) {
	if !take(ctx, f.cache.lists) {
		return
	}
	began := time.Now()
	err := f.backend.Poll(ctx, targets)
	<-f.cache.lists
	f.count(ctx, "poll", err)
	f.polled, f.failed = began, err
	if err == nil {
		f.errors = 0
		f.next = began.Add(period(every, random))
		return
	}
	f.errors++
	f.next = time.Now().Add(pause(f.errors, f.cache.options.Retry, random))
}

// count tells that a source was asked, unless that was cut short here.
func (f *follower) count(ctx context.Context, what string, err *knv.Error) {
	if f.cache.options.Asked != nil && ctx.Err() == nil {
		f.cache.options.Asked(what, err == nil)
	}
}

// update brings one target up to what the server has, and says when to try again what
// has failed.
func (f *follower) update(ctx context.Context, t remote.Target, forced bool) (retry time.Time) {
	w := f.want(t)
	if w == nil {
		return time.Time{}
	}
	if !forced && time.Now().Before(w.retry) {
		f.publish(t, nil, w.failed)
		return w.retry
	}
	commit, err := f.backend.Resolve(ctx, t)
	if errors.Is(cause(err), remote.ErrMissing) && f.polled.Before(w.since) {
		f.next = time.Time{} // it may be newer than the last look
		return time.Now()
	}
	var tree *Tree
	switch {
	case err != nil:
	case commit == w.bad:
		err = w.failed
	default:
		tree, err = f.obtain(ctx, t, commit)
	}
	if ctx.Err() != nil {
		if tree != nil {
			tree.Release()
		}
		return time.Time{}
	}
	w.note(commit, err, f.cache.options.Retry)
	f.publish(t, tree, err)
	return w.retry
}

// note remembers what a try has come to.
func (w *want) note(commit string, err *knv.Error, first time.Duration) {
	w.failed, w.retry = err, time.Time{}
	switch {
	case err == nil:
		w.bad, w.errors = "", 0
	case errors.Is(err, remote.ErrMissing):
		w.errors = 0
	case remote.IsContent(err) && commit != "":
		w.bad, w.errors = commit, 0
	default:
		w.errors++
		w.retry = time.Now().Add(pause(w.errors, first, random))
	}
}

// cause is an error for errors.Is, which does not take a nil that has a type.
func cause(err *knv.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// want is that of a target, nil if nobody wants it any more.
func (f *follower) want(t remote.Target) *want {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	return f.wants[t]
}

// obtain is the tree of a commit, held once for the want of a target.
func (f *follower) obtain(ctx context.Context, t remote.Target, commit string) (*Tree, *knv.Error) {
	if tree := f.existing(commit); tree != nil {
		return tree, nil
	}
	if !take(ctx, f.cache.fetches) {
		return nil, nil // the context has ended, and nothing counts any more
	}
	defer func() { <-f.cache.fetches }()
	dir := f.cache.newFolder()
	err := f.backend.Export(ctx, t, commit, dir)
	f.count(ctx, "fetch", err)
	if err != nil {
		return nil, err
	}
	return &Tree{Commit: commit, Dir: dir, store: f.cache.store, holds: 1}, nil
}

// existing is a tree of the commit that some target is at already, held once more.
func (f *follower) existing(commit string) *Tree {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	for _, w := range f.wants {
		if w.tree != nil && w.tree.Commit == commit && w.tree.Hold() {
			return w.tree
		}
	}
	return nil
}

// publish sets what a target has come to, and tells who wants it if that is something
// new. Without a tree the last one stays. It takes over the hold of the tree.
func (f *follower) publish(t remote.Target, tree *Tree, err *knv.Error) {
	for _, notify := range f.set(t, tree, err) {
		notify()
	}
}

func (f *follower) set(t remote.Target, tree *Tree, err *knv.Error) (tell []func()) {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	w := f.wants[t]
	if w == nil {
		if tree != nil {
			tree.Release()
		}
		return nil
	}
	changed := !same(w.err, err)
	switch tree {
	case nil:
	case w.tree:
		tree.Release()
	default:
		if w.tree != nil {
			w.tree.Release()
		}
		w.tree, changed = tree, true
	}
	if !changed {
		return nil
	}
	w.err, w.at = err, time.Now()
	for s := range f.subscribers {
		if s.spec.Target == t && s.notify != nil {
			tell = append(tell, s.notify)
		}
	}
	return tell
}

// same says whether two errors say the same.
func same(a, b *knv.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Code == b.Code && a.Text == b.Text
}
