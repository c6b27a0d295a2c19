// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"sync/atomic"
	"testing"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	var items []int
	for i := range 10 * parallelism {
		items = append(items, i)
	}
	var running, most atomic.Int64
	next := 0
	inOrder(t.Context(), items,
		func(_ context.Context, i int) int {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			return i * i
		},
		func(i, square int) {
			if i != next || square != i*i {
				t.Errorf("got %d: %d, want the result of %d", i, square, next)
			}
			next++
		})
	if next != len(items) {
		t.Errorf("got %d results of %d", next, len(items))
	}
	if most.Load() > parallelism {
		t.Errorf("%d ran at once", most.Load())
	}
}
