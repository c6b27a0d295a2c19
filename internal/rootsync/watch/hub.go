// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch follows the objects of all RootSyncs together: one watch for each kind,
// whatever the number of RootSyncs that have objects of it.
package watch

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Options are what a Hub is made of.
type Options struct {
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Kinds is what the API server serves now.
	Kinds func() *inventory.Snapshot
	// Changed is told of each object that came, changed or went. It must not block.
	Changed func(object.ID)
	// Synced is told when all objects of a kind are known, or when that is over. It must
	// not block.
	Synced func(schema.GroupKind)
	Pauses timing.Pauses
}

// Hub follows the objects that carry the label of managed objects, of the kinds that
// RootSyncs have objects of.
type Hub struct {
	o       Options
	objects *inventory.Objects

	mu    sync.Mutex
	users map[object.Sync]sets.Set[schema.GroupKind]
	kinds map[schema.GroupKind]*following
	turn  int
}

// following is a kind that is watched.
type following struct {
	source inventory.ObjectSource
	synced bool
	failed error
}

var _ live.Live = (*Hub)(nil)

// New makes a Hub that follows nothing.
func New(o Options) *Hub {
	h := &Hub{o: o, users: map[object.Sync]sets.Set[schema.GroupKind]{}, kinds: map[schema.GroupKind]*following{}}
	h.objects = inventory.NewObjectsAndMetadata(o.Dynamic, o.Metadata, (*handler)(h), h.keep, o.Pauses)
	return h
}

// dataOnly are kinds of which the metadata tells all that is to be known: they have no
// status. What Secrets hold never comes here.
var dataOnly = sets.New(
	schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "ServiceAccount"},
	schema.GroupKind{Kind: "LimitRange"},
	schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}, schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
	schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
)

// DataOnly says whether the objects of a kind have no status: they are as they should
// be once they are there.
func DataOnly(gk schema.GroupKind) bool { return dataOnly.Has(gk) }

// item is what the watch remembers of an object.
type item struct {
	metav1.ObjectMeta
	id   object.ID
	seen *live.Seen
}

func (h *Hub) keep(s inventory.ObjectSource, o metav1.Object) metav1.Object {
	id := object.ID{Group: s.Resource.Group, Namespace: o.GetNamespace(), Name: o.GetName()}
	switch o := o.(type) {
	case *unstructured.Unstructured:
		id.Kind = o.GetKind()
	case *metav1.PartialObjectMetadata:
		if kind, ok := h.o.Kinds().ByResource(s.Resource.GroupResource()); ok {
			id.Kind = kind.Kind
		}
	}
	return &item{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name, ResourceVersion: o.GetResourceVersion()}, id: id, seen: live.Of(id, o)}
}

// Follow says of which kinds a RootSync has objects now; none ends it. Kinds are watched
// until the context ends or nobody has objects of them.
func (h *Hub) Follow(ctx context.Context, who object.Sync, kinds sets.Set[schema.GroupKind]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users[who] = kinds.Clone(); len(kinds) == 0 {
		delete(h.users, who)
	}
	return h.refresh(ctx)
}

// Refresh looks again at what the API server serves.
func (h *Hub) Refresh(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refresh(ctx)
}

func (h *Hub) refresh(ctx context.Context) error {
	wanted, snapshot := h.wanted(), h.o.Kinds()
	if snapshot == nil { // not known yet: Refresh comes with it
		return nil
	}
	for gk, f := range h.kinds {
		kind, served := snapshot.ByKind(gk)
		if !wanted.Has(gk) || !served || kind.Resource != f.source.Resource {
			h.objects.Stop(f.source)
			delete(h.kinds, gk)
		}
	}
	for gk := range wanted {
		kind, served := snapshot.ByKind(gk)
		if _, runs := h.kinds[gk]; runs || !served || !kind.Can("list", "watch") {
			continue
		}
		h.turn++
		f := &following{source: inventory.ObjectSource{
			Resource: kind.Resource, Label: object.LabelPartOf, Metadata: DataOnly(gk), Turn: h.turn,
		}}
		h.kinds[gk] = f
		h.objects.Start(ctx, f.source)
	}
	return nil
}

func (h *Hub) wanted() sets.Set[schema.GroupKind] {
	out := sets.New[schema.GroupKind]()
	for _, kinds := range h.users {
		out = out.Union(kinds)
	}
	return out
}

// Seen is what is known of an object: nil if none is there that carries the label, false
// while the objects of its kind are not known.
func (h *Hub) Seen(id object.ID) (*live.Seen, bool) {
	h.mu.Lock()
	f := h.kinds[id.GroupKind()]
	h.mu.Unlock()
	if f == nil || !h.isSynced(f) {
		return nil, false
	}
	if i, ok := h.objects.Object(f.source, id.Namespace, id.Name).(*item); ok {
		return i.seen, true
	}
	return nil, true
}

func (h *Hub) isSynced(f *following) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f.synced
}

// Managed are the objects, of all kinds that are watched, that are a RootSync's by what
// is written on them.
func (h *Hub) Managed(who object.Sync) []object.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []object.ID
	for _, f := range h.kinds {
		for _, o := range h.objects.All(f.source) {
			if i, ok := o.(*item); ok && i.seen.Manager == who.Manager() {
				out = append(out, i.id)
			}
		}
	}
	return out
}

// Failed is why the objects of a kind cannot be watched now; nil if they can.
func (h *Hub) Failed(gk schema.GroupKind) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.kinds[gk]; f != nil {
		return f.failed
	}
	return nil
}

// Watched are the kinds that are watched now.
func (h *Hub) Watched() []schema.GroupKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]schema.GroupKind, 0, len(h.kinds))
	for gk := range h.kinds {
		out = append(out, gk)
	}
	return out
}

// Wait returns once all watches have ended, after their context has.
func (h *Hub) Wait() { h.objects.Wait() }

// handler is what the watches tell.
type handler Hub

// Seen implements inventory.ObjectHandler.
func (h *handler) Seen(_ inventory.ObjectSource, o metav1.Object) { h.changed(o) }

// Gone implements inventory.ObjectHandler.
func (h *handler) Gone(_ inventory.ObjectSource, o metav1.Object, _ bool) { h.changed(o) }

func (h *handler) changed(o metav1.Object) {
	if i, ok := o.(*item); ok {
		h.o.Changed(i.id)
	}
}

// Synced implements inventory.ObjectHandler.
func (h *handler) Synced(s inventory.ObjectSource) {
	h.update(s, func(f *following) { f.synced, f.failed = true, nil })
}

// Failed implements inventory.ObjectHandler.
func (h *handler) Failed(s inventory.ObjectSource, err error) {
	h.update(s, func(f *following) { f.failed = err })
}

// Works implements inventory.ObjectHandler.
func (h *handler) Works(s inventory.ObjectSource) {
	h.update(s, func(f *following) { f.failed = nil })
}

func (h *handler) update(s inventory.ObjectSource, change func(*following)) {
	h.mu.Lock()
	var of schema.GroupKind
	found := false
	for gk, f := range h.kinds {
		if f.source == s {
			change(f)
			of, found = gk, true
		}
	}
	h.mu.Unlock()
	if found {
		h.o.Synced(of)
	}
}
