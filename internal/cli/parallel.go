// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "context"

// parallelism is how many requests a command has under way at most.
const parallelism = 16

// inOrder does a piece of work for each item, several at a time, and hands over
// the results in the order of the items, each as soon as it and all before it
// are there. Results are handed over one at a time.
func inOrder[T, R any](ctx context.Context, items []T, work func(context.Context, T) R, emit func(T, R)) {
	results := make([]chan R, len(items))
	for i := range results {
		results[i] = make(chan R, 1)
	}
	go func() {
		slots := make(chan struct{}, parallelism)
		for i, item := range items {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				results[i] <- work(ctx, item)
			}()
		}
	}()
	for i, item := range items {
		emit(item, <-results[i])
	}
}
