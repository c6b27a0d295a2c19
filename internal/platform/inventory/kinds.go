// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Kind is a kind that the API server serves, in the version that it prefers.
type Kind struct {
	// Resource is what the kind is called in a URL.
	Resource schema.GroupVersionResource
	// Kind is what it is called in an object.
	Kind string
	// Namespaced is false for a cluster-scoped kind.
	Namespaced bool
	// Aggregated is true for a kind that an extension API server serves.
	Aggregated bool
	// CRD is true for a kind that a CustomResourceDefinition defines.
	CRD bool
	// Unserved is true for a kind that was served, and of whose definition no version is any more. Its objects cannot be
	// listed, changed or deleted, but with the definition.
	Unserved bool
	// Verbs are what can be done with its objects.
	Verbs []string
}

// GroupResource names the kind without a version.
func (k Kind) GroupResource() schema.GroupResource { return k.Resource.GroupResource() }

// GroupKind names the kind without a version.
func (k Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Kind}
}

// GroupVersionKind names the kind in the preferred version.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

// Can says whether all of these can be done with objects of the kind.
func (k Kind) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(k.Verbs, v) })
}

// CRDName is the name of the CustomResourceDefinition that would define the kind.
func (k Kind) CRDName() string { return k.Resource.Resource + "." + k.Resource.Group }

// Snapshot is what the API server serves at one moment. It is not changed once
// made.
type Snapshot struct {
	all        []Kind
	byResource map[schema.GroupResource]Kind
	byKind     map[schema.GroupKind]Kind
	// silent are the groups of which discovery does not show everything.
	silent sets.Set[string]
}

// NewSnapshot makes a Snapshot of kinds, each of which is there once.
func NewSnapshot(kinds []Kind) *Snapshot {
	s := &Snapshot{
		all:        kinds,
		byResource: make(map[schema.GroupResource]Kind, len(kinds)),
		byKind:     make(map[schema.GroupKind]Kind, len(kinds)),
	}
	slices.SortFunc(s.all, func(a, b Kind) int { return strings.Compare(a.GroupResource().String(), b.GroupResource().String()) })
	for _, k := range s.all {
		s.byResource[k.GroupResource()] = k
		if _, ok := s.byKind[k.GroupKind()]; !ok {
			s.byKind[k.GroupKind()] = k
		}
	}
	return s
}

// All are the kinds in the order of their names. They must not be changed.
func (s *Snapshot) All() []Kind { return s.all }

// ByResource finds a kind.
func (s *Snapshot) ByResource(r schema.GroupResource) (Kind, bool) {
	k, ok := s.byResource[r]
	return k, ok
}

// ByKind finds a kind.
func (s *Snapshot) ByKind(gk schema.GroupKind) (Kind, bool) {
	k, ok := s.byKind[gk]
	return k, ok
}

// Silent says whether discovery does not show everything of a group now: a kind of it
// that is not here may be served all the same.
func (s *Snapshot) Silent(group string) bool { return s.silent.Has(group) }

func (s *Snapshot) equal(o *Snapshot) bool {
	return o != nil && s.silent.Equal(o.silent) && slices.EqualFunc(s.all, o.all, func(a, b Kind) bool {
		return a.Resource == b.Resource && a.Kind == b.Kind && a.Namespaced == b.Namespaced &&
			a.Aggregated == b.Aggregated && a.CRD == b.CRD && a.Unserved == b.Unserved && slices.Equal(a.Verbs, b.Verbs)
	})
}
