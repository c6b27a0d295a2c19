// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set is all protections. It is safe for concurrent use.
type Set struct {
	mu    sync.RWMutex
	all   map[string]*Protection
	exact map[exactKey]byName
	wide  map[schema.GroupKind]byName
	kinds map[schema.GroupKind]int
}

// exactKey is an object that a selector names.
type exactKey struct {
	kind schema.GroupKind
	name string
}

type byName map[string]*Protection

// NewSet makes an empty Set.
func NewSet() *Set {
	return &Set{
		all:   map[string]*Protection{},
		exact: map[exactKey]byName{},
		wide:  map[schema.GroupKind]byName{},
		kinds: map[schema.GroupKind]int{},
	}
}

// Put adds a protection, or replaces the one of its name, which it returns.
func (s *Set) Put(p *Protection) (before *Protection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.remove(p.Name)
	s.all[p.Name] = p
	for _, sel := range p.Selectors {
		s.kinds[sel.Kind]++
		if sel.Names == nil {
			add(s.wide, sel.Kind, p)
		}
		for name := range sel.Names {
			add(s.exact, exactKey{sel.Kind, name}, p)
		}
	}
	return before
}

// Delete removes a protection and returns it, or nil.
func (s *Set) Delete(name string) *Protection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(name)
}

func (s *Set) remove(name string) *Protection {
	p := s.all[name]
	if p == nil {
		return nil
	}
	delete(s.all, name)
	for _, sel := range p.Selectors {
		s.kinds[sel.Kind]--
		if s.kinds[sel.Kind] == 0 {
			delete(s.kinds, sel.Kind)
		}
		remove(s.wide, sel.Kind, name)
		for n := range sel.Names {
			remove(s.exact, exactKey{sel.Kind, n}, name)
		}
	}
	return p
}

func add[K comparable](m map[K]byName, k K, p *Protection) {
	if m[k] == nil {
		m[k] = byName{}
	}
	m[k][p.Name] = p
}

func remove[K comparable](m map[K]byName, k K, name string) {
	delete(m[k], name)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

// Match returns the protections that select an object, in the order of their
// names.
func (s *Set) Match(kind schema.GroupKind, o *metav1.PartialObjectMetadata, namespace labels.Set) []*Protection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []*Protection
	for _, candidates := range []byName{s.exact[exactKey{kind, o.Name}], s.wide[kind]} {
		for _, p := range candidates {
			if !slices.Contains(found, p) && p.matches(kind, o, namespace) {
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Protection) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func (p *Protection) matches(kind schema.GroupKind, o *metav1.PartialObjectMetadata, namespace labels.Set) bool {
	return slices.ContainsFunc(p.Selectors, func(s Selector) bool { return s.Kind == kind && s.Matches(o, namespace) })
}

// Kinds are those that some protection names.
func (s *Set) Kinds() []schema.GroupKind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.kinds))
}

// Names says whether a protection names a kind.
func (s *Set) Names(kind schema.GroupKind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kinds[kind] > 0
}

// Within are the selectors of a kind that may select objects in a namespace, or
// anywhere for "".
func (s *Set) Within(kind schema.GroupKind, namespace string) (out []Selector) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.kinds[kind] == 0 {
		return nil
	}
	for _, p := range s.all {
		for _, sel := range p.Selectors {
			if sel.Kind == kind && (namespace == "" || sel.Namespace == "" || sel.Namespace == namespace) {
				out = append(out, sel)
			}
		}
	}
	return out
}

// All are the names of all protections.
func (s *Set) All() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.all))
}

// Naming are the protections that name a kind.
func (s *Set) Naming(kind schema.GroupKind) (names []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.kinds[kind] == 0 {
		return nil
	}
	for name, p := range s.all {
		if slices.ContainsFunc(p.Selectors, func(s Selector) bool { return s.Kind == kind }) {
			names = append(names, name)
		}
	}
	return names
}

// Get returns a protection, or nil.
func (s *Set) Get(name string) *Protection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// Len is how many protections there are.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.all)
}
