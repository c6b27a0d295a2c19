// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trigger asks a controller from outside to look at one of its objects,
// when what it goes by has changed without an event of that object.
package trigger

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Trigger is for one controller of a cluster-scoped kind. The zero value is ready
// to use.
type Trigger struct{ queue atomic.Pointer[queue] }

// Source is for the controller, as WatchesRawSource.
func (t *Trigger) Source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		t.queue.Store(&q)
		return nil
	})
}

// Ask has the controller look at an object after a while. It never blocks. What is
// asked before the controller runs is lost: it begins by looking at every object.
func (t *Trigger) Ask(name string, after time.Duration) {
	if q := t.queue.Load(); q != nil {
		(*q).AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, after)
	}
}
