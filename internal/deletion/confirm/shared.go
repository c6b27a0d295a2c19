// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

// processLooks is how many looks this process takes at once, for all requests, and again for those of Holdfast itself. The
// others wait in line, for as long as
// their requests may.
const processLooks = 8

// shared lets requests that ask for the same look take one. Of a namespace at most one look is running and one is
// waiting, however many requests there are about it.
//
// A request only shares a look that begins after the request has arrived. A look lists one kind after the other, and a
// label may be set behind it: a user who sets a label and then deletes the namespace has to be refused, so that the lists
// must be younger than the request. Who sets it later has no claim to that, not even with a look of the request's own.
type shared[T any] struct {
	slots *semaphore.Weighted

	mu sync.Mutex
	// next are looks that have not begun, and running those that have not ended, by key.
	next    map[string]*flight[T]
	running map[string]*flight[T]
}

// flight is one look.
type flight[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when it has ended, with out or err.
	done chan struct{}
	out  T
	err  error
	// waiting is how many requests wait for it.
	waiting int
}

func newShared[T any](slots *semaphore.Weighted) *shared[T] {
	return &shared[T]{slots: slots, next: map[string]*flight[T]{}, running: map[string]*flight[T]{}}
}

// do returns what a look shows that begins after this call, or an error when the context ends. All looks with the same key
// must be the same. A look is cancelled when no request waits for it any more.
func (s *shared[T]) do(ctx context.Context, key string, look func(context.Context) T) (T, error) {
	f := s.join(ctx, key, look)
	select {
	case <-f.done:
		return f.out, f.err
	case <-ctx.Done():
		s.leave(key, f)
		var none T
		return none, context.Cause(ctx)
	}
}

func (s *shared[T]) join(ctx context.Context, key string, look func(context.Context) T) *flight[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.next[key]
	if f == nil {
		f = &flight[T]{done: make(chan struct{})}
		f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // run calls it, and leave
		s.next[key] = f
		go s.run(key, f, s.running[key], look)
	}
	f.waiting++
	return f
}

func (s *shared[T]) leave(key string, f *flight[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return
	}
	f.cancel()
	if s.next[key] == f {
		delete(s.next, key)
	}
}

// run takes a look, after the one before it.
func (s *shared[T]) run(key string, f, before *flight[T], look func(context.Context) T) {
	defer close(f.done)
	defer f.cancel()
	defer s.end(key, f)
	defer func() { // as the server does, which does not see this goroutine
		if p := recover(); p != nil {
			f.err = fmt.Errorf("panic: %v", p)
		}
	}()
	if before != nil {
		<-before.done
	}
	if f.err = s.slots.Acquire(f.ctx, 1); f.err != nil {
		return
	}
	defer s.slots.Release(1)
	s.begin(key, f)
	if f.ctx.Err() == nil {
		f.out = look(f.ctx)
	}
}

// begin is the moment from which on no request joins.
func (s *shared[T]) begin(key string, f *flight[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next[key] == f {
		delete(s.next, key)
	}
	s.running[key] = f
}

func (s *shared[T]) end(key string, f *flight[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[key] == f {
		delete(s.running, key)
	}
}
