// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// ObjectSource is a set of whole objects to watch: all of a kind, or the one of a
// name.
type ObjectSource struct {
	Resource schema.GroupVersionResource
	// Name of a cluster-scoped object; empty for every object of the kind.
	Name string
	// Label is the key of a label that the objects have; empty for all.
	Label string
	// Metadata says that only that is asked for; see NewObjectsAndMetadata.
	Metadata bool
	// Turn tells apart what is stopped and started again: what is still told of the
	// one before is about another source.
	Turn int
}

// ObjectHandler is told of objects. Its methods are called from several goroutines.
type ObjectHandler interface {
	// Seen tells of an object that appeared or changed.
	Seen(s ObjectSource, o metav1.Object)
	// Gone tells of one that is not there any more. Missed says that nobody saw it
	// being deleted: a new list did not have it.
	Gone(s ObjectSource, o metav1.Object, missed bool)
	// Synced tells that all objects that a source had at its start were told.
	Synced(s ObjectSource)
	// Failed tells that a source cannot be listed or watched now; it is tried
	// again. Works tells that this is over.
	Failed(s ObjectSource, err error)
	Works(s ObjectSource)
}

// Objects follows whole objects, or what is kept of them.
type Objects struct {
	client   dynamic.Interface
	metadata metadata.Interface
	handler  ObjectHandler
	keep     func(ObjectSource, metav1.Object) metav1.Object
	pauses   timing.Pauses

	mu      sync.Mutex
	running map[ObjectSource]*running
	done    sync.WaitGroup
}

// NewObjects makes an Objects that remembers of each object what keep returns.
func NewObjects(c dynamic.Interface, h ObjectHandler, keep func(ObjectSource, *unstructured.Unstructured) metav1.Object, p timing.Pauses) *Objects {
	return &Objects{client: c, pauses: p, handler: h, running: map[ObjectSource]*running{}, keep: func(s ObjectSource, o metav1.Object) metav1.Object {
		if u, ok := o.(*unstructured.Unstructured); ok {
			return keep(s, u)
		}
		return o
	}}
}

// NewObjectsAndMetadata makes an Objects that can also watch sources by their metadata
// alone: keep gets an *unstructured.Unstructured or a *metav1.PartialObjectMetadata.
func NewObjectsAndMetadata(c dynamic.Interface, m metadata.Interface, h ObjectHandler, keep func(ObjectSource, metav1.Object) metav1.Object, p timing.Pauses) *Objects {
	return &Objects{client: c, metadata: m, pauses: p, handler: h, keep: keep, running: map[ObjectSource]*running{}}
}

// Start begins to watch a source until the context ends or it is stopped.
// Starting what runs does nothing.
func (w *Objects) Start(ctx context.Context, s ObjectSource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.running[s]; ok {
		return
	}
	health := &health{failed: func(err error) { w.handler.Failed(s, err) }, works: func() { w.handler.Works(s) }, steady: w.pauses.WatchSteady}
	transform := func(in any) (any, error) {
		switch o := in.(type) {
		case *unstructured.Unstructured:
			return w.keep(s, o), nil
		case *metav1.PartialObjectMetadata:
			return w.keep(s, o), nil
		}
		return in, nil
	}
	var example runtime.Object = &unstructured.Unstructured{}
	if s.Metadata {
		example = &metav1.PartialObjectMetadata{}
	}
	r := newRunning(w.listWatch(s, health), example, transform, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seen(s, o) },
		UpdateFunc: func(_, o any) { w.seen(s, o) },
		DeleteFunc: func(o any) { w.gone(s, o) },
	})
	w.running[s] = r
	r.start(ctx, &w.done, func() { w.handler.Synced(s) })
}

func (w *Objects) listWatch(s ObjectSource, h *health) cache.ListerWatcher {
	only := ""
	if s.Name != "" {
		only = fields.OneTermEqualSelector(metav1.ObjectNameField, s.Name).String()
	}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return w.client.Resource(s.Resource).List(ctx, o)
	}
	open := w.client.Resource(s.Resource).Watch
	var of any = w.client
	if s.Metadata {
		list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return w.metadata.Resource(s.Resource).List(ctx, o)
		}
		open, of = w.metadata.Resource(s.Resource).Watch, w.metadata
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector, o.LabelSelector = only, s.Label
			objects, err := list(ctx, o)
			return h.listed(ctx, objects, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.LabelSelector = only, s.Label
			events, err := open(ctx, o)
			return h.watched(ctx, events, err, o)
		},
	}, of)
}

func (w *Objects) seen(s ObjectSource, o any) {
	if m, ok := o.(metav1.Object); ok {
		w.handler.Seen(s, m)
	}
}

func (w *Objects) gone(s ObjectSource, o any) {
	tombstone, missed := o.(cache.DeletedFinalStateUnknown)
	if missed {
		o = tombstone.Obj
	}
	if m, ok := o.(metav1.Object); ok {
		w.handler.Gone(s, m, missed)
	}
}

// Stop ends a source. Its objects are not told to be gone.
func (w *Objects) Stop(s ObjectSource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.running[s]; ok {
		r.stop()
		delete(w.running, s)
	}
}

// Wait returns once all sources have ended, after the context that they were
// started with has.
func (w *Objects) Wait() { w.done.Wait() }

// All is what is kept of all objects of a source that are known now.
func (w *Objects) All(s ObjectSource) []metav1.Object {
	w.mu.Lock()
	r := w.running[s]
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	found := r.objects.List()
	out := make([]metav1.Object, 0, len(found))
	for _, o := range found {
		if m, ok := o.(metav1.Object); ok {
			out = append(out, m)
		}
	}
	return out
}

// Object is what is kept of one object of a source, or nil.
func (w *Objects) Object(s ObjectSource, namespace, name string) metav1.Object {
	w.mu.Lock()
	r := w.running[s]
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	o, _, _ := r.objects.GetByKey(cache.NewObjectName(namespace, name).String())
	m, _ := o.(metav1.Object)
	return m
}
