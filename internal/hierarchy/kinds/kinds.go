// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds finds what the entries of an HNCConfiguration mean.
package kinds

import (
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Resolve finds the kind that an entry names. As with HNC the resource can be in
// the plural or the singular and in any case, and the group can be left out, or be
// the beginning of one. What is written out in full goes before the rest, then the
// kinds of the API server before those of CRDs and of its extensions.
func Resolve(s *inventory.Snapshot, r hncv1alpha2.ResourceSpec) (found inventory.Kind, ok bool) {
	best := none
	for _, k := range s.All() {
		if rank := rankOf(k, r); rank < best {
			found, best = k, rank
		}
	}
	return found, best < none
}

// none is the rank of a kind that an entry does not name.
const none = 1 << 8

// rankOf says how well an entry names a kind; less is better.
func rankOf(k inventory.Kind, r hncv1alpha2.ResourceSpec) int {
	rank := 0
	switch {
	case k.Resource.Group == r.Group:
	case strings.HasPrefix(k.Resource.Group, r.Group):
		rank = 1 << 3
	default:
		return none
	}
	switch {
	case k.Resource.Resource == r.Resource:
	case strings.EqualFold(k.Resource.Resource, r.Resource), strings.EqualFold(k.Kind, r.Resource):
		rank |= 1 << 2
	default:
		return none
	}
	if k.Aggregated {
		rank |= 1 << 1
	}
	if k.CRD {
		rank |= 1 << 0
	}
	return rank
}

// Resolved is an entry as the rules want it.
func Resolved(s *inventory.Snapshot, r hncv1alpha2.ResourceSpec) rules.Resource {
	k, ok := Resolve(s, r)
	if !ok {
		return rules.Resource{ResourceSpec: r}
	}
	return rules.Resource{ResourceSpec: r, Served: true, Namespaced: k.Namespaced, Kind: k.GroupKind()}
}
