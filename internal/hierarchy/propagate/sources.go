// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/snapshot"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Key is what an object and its copies have in common.
type Key struct {
	Kind schema.GroupKind
	Name string
}

func (k Key) text() string { return k.Kind.Kind + "." + k.Kind.Group + "/" + k.Name }

// Source is an object that is no copy, and what its exceptions say.
type Source struct {
	Key
	Namespace string
	// Problem is why the exceptions cannot be read; then there are no copies.
	Problem error
	// Excluded is why there are no copies, whatever the exceptions say.
	Excluded string
	// Held says that the object has finalizers: no copies are made or changed, and
	// those that are there stay.
	Held bool
	// Restored reports whether the object was a copy when it was backed up. A source above it overwrites it.
	Restored bool
	// Role is the name of the Role that a RoleBinding refers to; "" if it refers to a ClusterRole, and for other kinds.
	Role string

	exceptions Exceptions
}

// NewSource reads an object.
func (r Rules) NewSource(o Object) *Source {
	s := &Source{Key: Key{o.Kind, o.Name}, Namespace: o.Namespace, Held: o.Finalizers, Restored: o.Restored(), Role: o.Role, Excluded: r.neverCopied(o)}
	s.exceptions, s.Problem = ParseExceptions(o.Annotations)
	return s
}

// Eligible says whether a source is to be copied to a namespace with these labels,
// if that stands below it.
func (s *Source) Eligible(mode hncv1alpha2.SynchronizationMode, namespace map[string]string) bool {
	if mode == hncv1alpha2.ModeAllowPropagate && !s.exceptions.asks() {
		return false
	}
	return s.Problem == nil && s.exceptions.allow(namespace) && s.Excluded == ""
}

// Sources is all sources as they stood at one moment. It never changes and is safe
// for concurrent use.
type Sources struct {
	rules       Rules
	byKey       snapshot.Table[[]*Source]
	byNamespace snapshot.Table[snapshot.Table[Key]]
}

// NewSources makes an empty Sources. The Rules stay: other ones need the sources
// read again.
func NewSources(r Rules) *Sources { return &Sources{rules: r} }

// Rules are those in force.
func (s *Sources) Rules() Rules { return s.rules }

func find(list []*Source, namespace string) (int, bool) {
	return slices.BinarySearchFunc(list, namespace, func(s *Source, n string) int { return strings.Compare(s.Namespace, n) })
}

// With returns Sources with one more, or with a newer version of it.
func (s *Sources) With(source *Source) *Sources {
	key := source.text()
	list, _ := s.byKey.Get(key)
	list = slices.Clone(list)
	if i, found := find(list, source.Namespace); found {
		list[i] = source
	} else {
		list = slices.Insert(list, i, source)
	}
	in, _ := s.byNamespace.Get(source.Namespace)
	return &Sources{s.rules, s.byKey.Set(key, list), s.byNamespace.Set(source.Namespace, in.Set(key, source.Key))}
}

// Without returns Sources without the one in a namespace.
func (s *Sources) Without(k Key, namespace string) *Sources {
	key := k.text()
	list, _ := s.byKey.Get(key)
	i, found := find(list, namespace)
	if !found {
		return s
	}
	out := *s
	if len(list) == 1 {
		out.byKey = s.byKey.Delete(key)
	} else {
		out.byKey = s.byKey.Set(key, slices.Delete(slices.Clone(list), i, i+1))
	}
	in, _ := s.byNamespace.Get(namespace)
	if in = in.Delete(key); in.Empty() {
		out.byNamespace = s.byNamespace.Delete(namespace)
	} else {
		out.byNamespace = s.byNamespace.Set(namespace, in)
	}
	return &out
}

// Get returns the source of a key in a namespace, or nil.
func (s *Sources) Get(k Key, namespace string) *Source {
	list, _ := s.byKey.Get(k.text())
	if i, found := find(list, namespace); found {
		return list[i]
	}
	return nil
}

// In are the keys of the sources in a namespace, in order.
func (s *Sources) In(namespace string) []Key {
	in, _ := s.byNamespace.Get(namespace)
	var out []Key
	for _, k := range in.All() {
		out = append(out, k)
	}
	slices.SortFunc(out, Key.compare)
	return out
}

// Into are the keys of the copies that a namespace could have, in order: those of
// the sources in its ancestors.
func (s *Sources) Into(t *tree.Tree, namespace string) []Key {
	var out []Key
	for _, above := range t.Ancestors(namespace) {
		out = append(out, s.In(above)...)
	}
	slices.SortFunc(out, Key.compare)
	return slices.Compact(out)
}

func (k Key) compare(l Key) int {
	return cmp.Or(strings.Compare(k.Kind.Group, l.Kind.Group), strings.Compare(k.Kind.Kind, l.Kind.Kind), strings.Compare(k.Name, l.Name))
}
