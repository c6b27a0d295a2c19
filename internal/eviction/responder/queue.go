// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package responder

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queue is that of the controller. What comes before the controller runs waits: the
// watch may begin first, and tells of each Eviction once.
type queue struct {
	mu      sync.Mutex
	running workQueue
	waiting sets.Set[reconcile.Request]
}

func (q *queue) start(_ context.Context, running workQueue) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = running
	for r := range q.waiting {
		running.Add(r)
	}
	q.waiting = nil
	return nil
}

func (q *queue) add(o *metav1.PartialObjectMetadata) {
	r := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running != nil {
		q.running.Add(r)
		return
	}
	if q.waiting == nil {
		q.waiting = sets.Set[reconcile.Request]{}
	}
	q.waiting.Insert(r)
}

// Seen implements inventory.Handler.
func (r *Responder) Seen(_ inventory.Source, o *metav1.PartialObjectMetadata) { r.queue.add(o) }

// Gone implements inventory.Handler.
func (*Responder) Gone(inventory.Source, *metav1.PartialObjectMetadata) {}

// Synced implements inventory.Handler.
func (*Responder) Synced(inventory.Source) {}

// Failed implements inventory.Handler.
func (*Responder) Failed(inventory.Source, error) {}
