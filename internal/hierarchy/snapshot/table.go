// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot has a map that never changes, for what many read while one
// makes the next version of it.
package snapshot

import (
	"iter"
	"maps"
)

// Table is a map that never changes: Change returns another one that shares
// nearly all with this one. A change copies two short arrays and one
// small map. The zero Table is empty.
type Table[V any] struct {
	top *[fan]*[fan]map[string]V
}

// fan is how many ways there are at each of the two levels.
const fan = 64

// place says where a key is: FNV-1a.
func place(key string) (first, second uint32) {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	h ^= h >> 15
	return h % fan, h / fan % fan
}

// Get returns the value of a key.
func (t Table[V]) Get(key string) (v V, ok bool) {
	if t.top == nil {
		return v, false
	}
	first, second := place(key)
	if t.top[first] == nil {
		return v, false
	}
	v, ok = t.top[first][second][key]
	return v, ok
}

// Change returns a Table that differs, by the edits that it is given: a nil value
// takes the key away.
func (t Table[V]) Change(edits iter.Seq2[string, *V]) Table[V] {
	var top [fan]*[fan]map[string]V
	if t.top != nil {
		top = *t.top
	}
	var ownArray [fan]bool
	var ownMap [fan][fan]bool
	for key, v := range edits {
		first, second := place(key)
		if !ownArray[first] {
			array := [fan]map[string]V{}
			if top[first] != nil {
				array = *top[first]
			}
			top[first], ownArray[first] = &array, true
		}
		leaf := &top[first][second]
		if !ownMap[first][second] {
			*leaf, ownMap[first][second] = maps.Clone(*leaf), true
		}
		switch {
		case v == nil:
			delete(*leaf, key)
		case *leaf == nil:
			*leaf = map[string]V{key: *v}
		default:
			(*leaf)[key] = *v
		}
	}
	return Table[V]{&top}
}

// Set returns a Table with one value more, or another one.
func (t Table[V]) Set(key string, v V) Table[V] { return t.one(key, &v) }

// Delete returns a Table without a key.
func (t Table[V]) Delete(key string) Table[V] { return t.one(key, nil) }

func (t Table[V]) one(key string, v *V) Table[V] {
	return t.Change(func(yield func(string, *V) bool) { yield(key, v) })
}

// Empty says whether there is nothing in it.
func (t Table[V]) Empty() bool {
	for range t.All() {
		return false
	}
	return true
}

// All is every key with its value, in no order.
func (t Table[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.top == nil {
			return
		}
		for _, array := range t.top {
			if array == nil {
				continue
			}
			for _, leaf := range array {
				for k, v := range leaf {
					if !yield(k, v) {
						return
					}
				}
			}
		}
	}
}
