// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"cmp"
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
	// keeps are the kinds of what is in the inventory of a RootSync, declared or not.
	keeps map[object.Sync]sets.Set[schema.GroupKind]
}

func newDeclarers() *declarers {
	return &declarers{
		of: map[object.ID][]object.Sync{}, has: map[object.Sync]sets.Set[object.ID]{}, since: map[object.Sync]time.Time{},
		keeps: map[object.Sync]sets.Set[schema.GroupKind]{},
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

// owner is the oldest RootSync that declares an object; empty if none does.
func (d *declarers) owner(id object.ID) object.Sync {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if list := d.of[id]; len(list) > 0 {
		return list[0]
	}
	return ""
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

// keep says of which kinds a RootSync has objects from now on, and returns of which it has
// none any more.
func (d *declarers) keep(s object.Sync, kinds sets.Set[schema.GroupKind]) (no sets.Set[schema.GroupKind]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	no = d.keeps[s].Difference(kinds)
	if d.keeps[s] = kinds; len(kinds) == 0 {
		delete(d.keeps, s)
	}
	return no
}

// users are the RootSyncs beside one that declare objects of a kind, or have some that
// could not go yet: they would go with their kind.
func (d *declarers) users(gk schema.GroupKind, but object.Sync) []object.Sync {
	d.mu.RLock()
	defer d.mu.RUnlock()
	users := sets.New[object.Sync]()
	for s, kinds := range d.keeps {
		if kinds.Has(gk) {
			users.Insert(s)
		}
	}
	for s, ids := range d.has {
		if !users.Has(s) && slices.ContainsFunc(ids.UnsortedList(), func(id object.ID) bool { return id.GroupKind() == gk }) {
			users.Insert(s)
		}
	}
	return sets.List(users.Delete(but))
}
