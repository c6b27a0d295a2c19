// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// declarers know which RootSyncs declare an object, so that one of them can have it and
// all agree which.
type declarers struct {
	mu    sync.RWMutex
	of    map[object.ID][]object.Sync
	has   map[object.Sync]sets.Set[object.ID]
	since map[object.Sync]time.Time
	// keeps is what is in the inventory of a RootSync, declared or not, in order, and keepsKinds its kinds.
	keeps      map[object.Sync][]object.ID
	keepsKinds map[object.Sync]sets.Set[schema.GroupKind]
}

func newDeclarers() *declarers {
	return &declarers{
		of: map[object.ID][]object.Sync{}, has: map[object.Sync]sets.Set[object.ID]{}, since: map[object.Sync]time.Time{},
		keeps: map[object.Sync][]object.ID{}, keepsKinds: map[object.Sync]sets.Set[schema.GroupKind]{},
	}
}

// set says what a RootSync declares from now on, and returns which other RootSyncs
// declare what of that which changed.
func (d *declarers) set(s object.Sync, since time.Time, next sets.Set[object.ID]) map[object.Sync][]object.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	former := d.has[s]
	others := map[object.Sync][]object.ID{}
	tell := func(id object.ID) {
		for _, other := range d.of[id] {
			others[other] = append(others[other], id)
		}
	}
	for id := range former.Difference(next) {
		d.of[id] = slices.DeleteFunc(slices.Clone(d.of[id]), func(o object.Sync) bool { return o == s })
		tell(id)
		if len(d.of[id]) == 0 {
			delete(d.of, id)
		}
	}
	d.since[s] = since
	for id := range next.Difference(former) {
		tell(id)
		d.of[id] = slices.SortedFunc(slices.Values(append(slices.Clone(d.of[id]), s)), d.older)
	}
	if d.has[s] = next; len(next) == 0 {
		delete(d.has, s)
		delete(d.since, s)
	}
	return others
}

func (d *declarers) older(a, b object.Sync) int {
	return cmp.Or(d.since[a].Compare(d.since[b]), cmp.Compare(a, b))
}

// list are the RootSyncs that declare an object, the oldest first. It must not be changed.
func (d *declarers) list(id object.ID) []object.Sync {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.of[id]
}

// syncs are the RootSyncs that declare or have something, by name.
func (d *declarers) syncs() []object.Sync {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := sets.KeySet(d.has)
	return sets.List(out.Union(sets.KeySet(d.keeps)))
}

// having are the objects that a RootSync declares, or has in its inventory, in order.
func (d *declarers) having(s object.Sync, match func(object.ID) bool) []object.ID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := sets.New[object.ID]()
	for id := range d.has[s] {
		if match(id) {
			out.Insert(id)
		}
	}
	for _, id := range d.keeps[s] {
		if match(id) {
			out.Insert(id)
		}
	}
	return slices.SortedFunc(maps.Keys(out), object.ID.Compare)
}

// havingOne is having for a single object.
func (d *declarers) havingOne(s object.Sync, id object.ID) []object.ID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if _, found := slices.BinarySearchFunc(d.keeps[s], id, object.ID.Compare); !found && !d.has[s].Has(id) {
		return nil
	}
	return []object.ID{id}
}

// kinds are those of which a RootSync declares objects.
func (d *declarers) kinds(s object.Sync) sets.Set[schema.GroupKind] {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := sets.New[schema.GroupKind]()
	for id := range d.has[s] {
		out.Insert(id.GroupKind())
	}
	return out
}

// keep says which objects a RootSync has from now on, and returns of which kinds it has none any more.
func (d *declarers) keep(s object.Sync, ids []object.ID) (no sets.Set[schema.GroupKind]) {
	kinds := sets.New[schema.GroupKind]()
	for _, id := range ids {
		kinds.Insert(id.GroupKind())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	no = d.keepsKinds[s].Difference(kinds)
	if d.keeps[s], d.keepsKinds[s] = ids, kinds; len(ids) == 0 {
		delete(d.keeps, s)
		delete(d.keepsKinds, s)
	}
	return no
}
