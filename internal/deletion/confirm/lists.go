// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// processLists is how many lists this process asks at once, over all requests: a
// hundred namespaces that are deleted together must not take the API server away
// from everybody else. It is several times what one request asks at once.
const processLists = 128

// bound is what the lists of all requests share.
type bound struct{ slots *semaphore.Weighted }

func newBound(n int64) bound { return bound{semaphore.NewWeighted(n)} }

// listed makes one list when there is room for it, or gives up with the context.
func listed[T any](ctx context.Context, b bound, list func() (T, error)) (out T, err error) {
	if err := b.slots.Acquire(ctx, 1); err != nil {
		return out, fmt.Errorf("wait for other lists to end: %w", err)
	}
	defer b.slots.Release(1)
	return list()
}

// eachPage goes through a list by pages, until one of them shows what is looked
// for.
func eachPage(o metav1.ListOptions, look func(metav1.ListOptions) (found, next string, err error)) (string, error) {
	for {
		found, next, err := look(o)
		if found != "" || next == "" || err != nil {
			return found, err
		}
		o.Continue, o.Limit = next, page
	}
}
