// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Source is a set of objects to watch: those of a kind that carry a label.
type Source struct {
	Resource schema.GroupVersionResource
	// Label is its key; empty for every object of the kind.
	Label string
	// Namespace that the objects are in; empty for all.
	Namespace string
}

// Handler is told of objects. Its methods are called from several goroutines.
type Handler interface {
	// Seen tells of an object that appeared or changed.
	Seen(s Source, o *metav1.PartialObjectMetadata)
	// Gone tells of one that was deleted or lost the label.
	Gone(s Source, o *metav1.PartialObjectMetadata)
	// Synced tells that all objects that a source had at its start were told.
	Synced(s Source)
	// Failed tells that a source cannot be listed or watched now; it is tried
	// again.
	Failed(s Source, err error)
}

// Recovery is implemented by a Handler that wants to know when that is over.
type Recovery interface {
	// Works tells that a source which failed is watched again.
	Works(s Source)
}

// Watches follow the metadata of the objects of its sources.
type Watches struct {
	// Keep says which annotations to remember; without it, Holdfast's own. It is set
	// before the first Start.
	Keep func(annotation string) bool

	client  metadata.Interface
	handler Handler

	mu      sync.Mutex
	running map[Source]*running
	done    sync.WaitGroup
}

// NewWatches makes a Watches.
func NewWatches(c metadata.Interface, h Handler) *Watches {
	return &Watches{client: c, handler: h, running: map[Source]*running{}, Keep: isOurs}
}

// Start begins to watch a source until the context ends or it is stopped.
// Starting what runs does nothing.
func (w *Watches) Start(ctx context.Context, s Source) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.running[s]; ok {
		return
	}
	health := &health{
		failed: func(err error) { w.handler.Failed(s, err) },
		works: func() {
			if h, ok := w.handler.(Recovery); ok {
				h.Works(s)
			}
		},
	}
	r := newRunning(w.listWatch(s, health), &metav1.PartialObjectMetadata{}, w.strip, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seen(s, o) },
		UpdateFunc: func(_, o any) { w.seen(s, o) },
		DeleteFunc: func(o any) { w.gone(s, o) },
	})
	w.running[s] = r
	r.start(ctx, &w.done, func() { w.handler.Synced(s) })
}

// listWatch lists and watches a source, and keeps its health.
func (w *Watches) listWatch(s Source, h *health) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = s.Label
			list, err := w.client.Resource(s.Resource).Namespace(s.Namespace).List(ctx, o)
			return h.listed(ctx, list, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = s.Label
			events, err := w.client.Resource(s.Resource).Namespace(s.Namespace).Watch(ctx, o)
			return h.watched(ctx, events, err, o)
		},
	}, w.client)
}

func (w *Watches) seen(s Source, o any) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		w.handler.Seen(s, m)
	}
}

func (w *Watches) gone(s Source, o any) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		w.handler.Gone(s, m)
	}
}

// Stop ends a source. Its objects are not told to be gone.
func (w *Watches) Stop(s Source) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.running[s]; ok {
		r.stop()
		delete(w.running, s)
	}
}

// Wait returns once all sources have ended, after the context that they were
// started with has.
func (w *Watches) Wait() { w.done.Wait() }

// Objects are those of a source that are known now, in a namespace or in all.
func (w *Watches) Objects(s Source, namespace string) []*metav1.PartialObjectMetadata {
	w.mu.Lock()
	r := w.running[s]
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	var found []any
	if namespace == "" {
		found = r.objects.List()
	} else if in, err := r.objects.ByIndex(byNamespace, namespace); err == nil {
		found = in
	}
	out := make([]*metav1.PartialObjectMetadata, 0, len(found))
	for _, o := range found {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			out = append(out, m)
		}
	}
	return out
}

// Object is one object of a source, or nil.
func (w *Watches) Object(s Source, namespace, name string) *metav1.PartialObjectMetadata {
	w.mu.Lock()
	r := w.running[s]
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	o, _, _ := r.objects.GetByKey(key)
	m, _ := o.(*metav1.PartialObjectMetadata)
	return m
}

func (w *Watches) strip(in any) (any, error) {
	if m, ok := in.(*metav1.PartialObjectMetadata); ok {
		return stripped(m, w.Keep), nil
	}
	return in, nil
}

func strip(in any) (any, error) {
	if m, ok := in.(*metav1.PartialObjectMetadata); ok {
		return Strip(m), nil
	}
	return in, nil
}

// Strip keeps of an object what identifies it, its labels, owners and whether it
// is being deleted. Annotations go, but for those of Holdfast: they can be large.
func Strip(m *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata { return stripped(m, isOurs) }

func stripped(m *metav1.PartialObjectMetadata, keep func(annotation string) bool) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences, DeletionTimestamp: m.DeletionTimestamp,
	}}
	for k, v := range m.Annotations {
		if keep(k) {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, k, v)
		}
	}
	return out
}

// ourPrefix begins the keys of Holdfast's own annotations.
const ourPrefix = v1alpha1.GroupName + "/"

func isOurs(key string) bool { return strings.HasPrefix(key, ourPrefix) }
