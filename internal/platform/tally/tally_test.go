// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tally

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// written is where a Tally under test writes.
type written struct {
	mu   sync.Mutex
	sums map[string]int
	n    int
	err  error
}

func (w *written) write(_ context.Context, name string, n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if w.err != nil {
		return w.err
	}
	w.sums[name] += n
	return nil
}

func newTally() (*Tally[int], *written) {
	w := &written{sums: map[string]int{}}
	return New(func(sum *int, more int) { *sum += more }, w.write, timing.Production()), w
}

func TestTally_manyCountsCostOneWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally, w := newTally()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = tally.Start(ctx) }()
		for range 1000 {
			tally.Add("a", 1)
		}
		<-time.After(2 * timing.Production().CountsFirst)
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"a": 1000}, w.sums); diff != "" || w.n != 1 {
			t.Errorf("%d writes; sums (-want +got):\n%s", w.n, diff)
		}
		cancel()
		synctest.Wait()
		if w.n != 1 {
			t.Errorf("the end wrote although nothing was left: %d writes", w.n)
		}
	})
}

func TestTally_theEndWritesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally, w := newTally()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = tally.Start(ctx) }()
		tally.Add("a", 2)
		cancel()
		synctest.Wait()
		if w.sums["a"] != 2 {
			t.Errorf("got %v, want a count of 2", w.sums)
		}
	})
}

func TestTally_whatCannotBeWrittenIsKept(t *testing.T) {
	t.Parallel()
	tally, w := newTally()
	w.err = errors.New("the API server is gone")
	tally.Add("a", 1)
	tally.Flush(t.Context())
	w.err = nil
	tally.Add("a", 1)
	tally.Flush(t.Context())
	if w.sums["a"] != 2 {
		t.Errorf("got %v, want a count of 2", w.sums)
	}
}
