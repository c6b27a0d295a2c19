// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// fate is what would become of an object below one that is deleted. The values
// are part of the output that scripts may read.
type fate string

const (
	// fateDeleted goes with what it hangs below.
	fateDeleted fate = "Deleted"
	// fateRefused is protected: the controller that would delete it is refused.
	fateRefused fate = "Refused"
	// fateStays is not asked for: what owns it stays, or another owner does.
	fateStays fate = "Stays"
	// fateLost is protected, and gone all the same: nothing is asked when an
	// instance goes with its definition, or a volume with its claim.
	fateLost fate = "Lost"
)

// node is an object below one that is to be deleted.
type node struct {
	objectRef `json:",inline"`
	Fate      fate `json:"fate"`
	// Protected says whether it is protected in its own right.
	Protected bool `json:"protected"`
	// Because says why it is not simply deleted.
	Because []string `json:"because,omitempty"`
	// Below are the objects that it owns.
	Below []node `json:"below,omitempty"`
}

// relation is how things hang below an object.
type relation string

const (
	// relationContents are the objects in a namespace.
	relationContents relation = "Contents"
	// relationInstances are the objects of a CustomResourceDefinition's kind.
	relationInstances relation = "Instances"
	// relationDependents are the objects that name it as their owner.
	relationDependents relation = "Dependents"
)

// below is what hangs below an object.
type below struct {
	Relation relation `json:"relation"`
	// Items are the objects: dependents all, of contents and instances those that
	// are protected, and in files all.
	Items []node `json:"items"`
	// Protected is how many of them are, and Others how many are not; nil where
	// nobody counted.
	Protected int  `json:"protected"`
	Others    *int `json:"others,omitempty"`
	// NotLookedAt are kinds that extension API servers serve.
	NotLookedAt []string `json:"notLookedAt,omitempty"`
	// Problems say what could not be looked at.
	Problems []string `json:"problems,omitempty"`
}

func relationOf(r schema.GroupResource) relation {
	switch r {
	case namespacesKind.GroupResource():
		return relationContents
	case crdsKind.GroupResource():
		return relationInstances
	}
	return relationDependents
}

// below foretells what becomes of what hangs below an object if that is deleted.
// Whether it could be is not asked.
func (w *world) below(root target) below {
	b := below{Relation: relationOf(root.kind.GroupResource()), Items: []node{}}
	switch b.Relation {
	case relationContents:
		released := v1alpha1.MarkOf(root.meta, v1alpha1.OverrideContentsMark) != ""
		b.Items = w.nodes(func(t target) bool {
			return t.meta.Namespace == root.meta.Name || t.claim != nil && t.claim.Namespace == root.meta.Name
		}, func(t target) (fate, []string) {
			if t.claim != nil {
				return w.endsWithClaim(t, func(claim target) bool { return len(w.refusals(claim, namespaceController, released)) == 0 })
			}
			return w.ends(t, namespaceController, released)
		})
	case relationInstances:
		resource := schema.ParseGroupResource(root.meta.Name)
		b.Items = w.nodes(func(t target) bool { return t.kind.GroupResource() == resource }, w.endsWithDefinition)
	default:
		b.Items = w.dependents(root)
	}
	b.Protected = countProtected(b.Items)
	return b
}

// nodes are the objects that a filter takes, in order.
func (w *world) nodes(takes func(target) bool, ends func(target) (fate, []string)) []node {
	out := []node{}
	for _, t := range w.objects {
		if takes(t) {
			n := node{objectRef: refOf(t), Protected: w.stays(t)}
			n.Fate, n.Because = ends(t)
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, compareNodes)
	return out
}

func compareNodes(a, b node) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group),
		strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

func countProtected(nodes []node) int {
	count := 0
	for _, n := range nodes {
		if n.Protected {
			count++
		}
		count += countProtected(n.Below)
	}
	return count
}

// ends says what becomes of an object that a controller wants to delete.
func (w *world) ends(t target, controller string, released bool) (fate, []string) {
	if t.meta.DeletionTimestamp != nil {
		return fateDeleted, []string{"is being deleted already"}
	}
	found := w.refusals(t, controller, released)
	switch {
	case len(found) == 0 && t.use == notInUse && w.stays(t):
		return fateDeleted, []string{"is not in use"}
	case len(found) == 0:
		return fateDeleted, nil
	}
	var why []string
	for _, f := range found {
		why = append(why, because(t, f.Key))
	}
	return fateRefused, why
}

// endsWithDefinition is for an instance: the API server deletes it with its
// definition and asks no policy about it.
func (w *world) endsWithDefinition(t target) (fate, []string) {
	end, why := w.ends(t, namespaceController, false)
	if end == fateRefused {
		end = fateLost
	}
	return end, why
}

// dependents are the objects that name the root, or one of its dependents, as
// their owner. An object is shown below the first owner that is met.
func (w *world) dependents(root target) []node {
	children := map[types.UID][]target{}
	for _, t := range w.objects {
		for _, owner := range ownersOf(t.meta) {
			children[owner] = append(children[owner], t)
		}
		if t.claim != nil {
			children[t.claim.UID] = append(children[t.claim.UID], t)
		}
	}
	gone := w.gone(root, children)
	seen := sets.New(root.meta.UID)
	var walk func(parent target) []node
	walk = func(parent target) []node {
		out := []node{}
		for _, t := range children[parent.meta.UID] {
			if seen.Has(t.meta.UID) {
				continue
			}
			seen.Insert(t.meta.UID)
			n := node{objectRef: refOf(t), Protected: w.stays(t)}
			n.Fate, n.Because = w.endsWithOwner(t, gone)
			n.Below = walk(t)
			out = append(out, n)
		}
		slices.SortStableFunc(out, compareNodes)
		return out
	}
	return walk(root)
}

// gone are the objects that the garbage collector would delete with the root: all
// of their owners are gone, and nothing refuses.
func (w *world) gone(root target, children map[types.UID][]target) sets.Set[types.UID] {
	gone := sets.New(root.meta.UID)
	next := []types.UID{root.meta.UID}
	for len(next) > 0 {
		for _, t := range children[next[0]] {
			if t.claim == nil && !gone.Has(t.meta.UID) && gone.HasAll(ownersOf(t.meta)...) && len(w.refusals(t, garbageCollector, false)) == 0 {
				gone.Insert(t.meta.UID)
				next = append(next, t.meta.UID)
			}
		}
		next = next[1:]
	}
	return gone
}

func (w *world) endsWithOwner(t target, gone sets.Set[types.UID]) (fate, []string) {
	if t.claim != nil {
		return w.endsWithClaim(t, func(claim target) bool { return gone.Has(claim.meta.UID) })
	}
	if gone.Has(t.meta.UID) {
		return fateDeleted, nil
	}
	for _, r := range t.meta.OwnerReferences {
		if !gone.Has(r.UID) {
			return fateStays, []string{"its owner " + strings.ToLower(r.Kind) + "/" + ui.Name(r.Name) + " stays"}
		}
	}
	return w.ends(t, garbageCollector, false)
}
