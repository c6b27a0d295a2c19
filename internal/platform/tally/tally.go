// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tally adds up what every replica counts about named objects, and writes
// the sums into their status once in a while: a request is never held up by a
// write, and many requests cost one.
package tally

import (
	"context"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// lastWrite bounds the write at the end of a process.
const lastWrite = 5 * time.Second

// Tally collects counts of type C by the name of an object.
type Tally[C any] struct {
	add    func(sum *C, more C)
	write  func(ctx context.Context, name string, counts C) error
	pauses timing.Pauses
	// flushing keeps the order of writes.
	flushing sync.Mutex
	mu       sync.Mutex
	counts   map[string]C
	wake     chan struct{}
}

// New makes a Tally. Add sums up; write adds a sum to the status of an object,
// under the API server's optimistic lock, because other replicas write theirs too.
// What it fails to write is kept for the next time; for an object that is gone it
// returns nil.
func New[C any](add func(sum *C, more C), write func(ctx context.Context, name string, counts C) error, p timing.Pauses) *Tally[C] {
	return &Tally[C]{add: add, write: write, pauses: p, counts: map[string]C{}, wake: make(chan struct{}, 1)}
}

// Add counts something. It never blocks on I/O.
func (t *Tally[C]) Add(name string, more C) {
	t.mu.Lock()
	sum := t.counts[name]
	t.add(&sum, more)
	t.counts[name] = sum
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection is false: every replica writes what it has counted.
func (t *Tally[C]) NeedLeaderElection() bool { return false }

// Start writes until the context ends, and then once more. What goes on for long is
// written less and less often.
func (t *Tally[C]) Start(ctx context.Context) error {
	wait := t.pauses.CountsFirst
	for {
		select {
		case <-ctx.Done():
			t.finish(ctx)
			return nil
		case <-time.After(2 * wait):
			wait = t.pauses.CountsFirst // nothing was counted for a while
			continue
		case <-t.wake:
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			t.Flush(ctx)
			wait = min(2*wait, t.pauses.CountsLongest)
		}
	}
}

func (t *Tally[C]) finish(ctx context.Context) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	t.Flush(last)
}

// Flush writes what has been collected.
func (t *Tally[C]) Flush(ctx context.Context) {
	t.flushing.Lock()
	defer t.flushing.Unlock()
	t.mu.Lock()
	counts := t.counts
	t.counts = map[string]C{}
	t.mu.Unlock()
	for name, c := range counts {
		if err := t.write(ctx, name, c); err != nil {
			ctrl.Log.WithName("tally").Info("Counts could not be written; they are kept", "name", name, "error", err.Error())
			t.Add(name, c)
		}
	}
}
