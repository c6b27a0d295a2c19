// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Input is what is known at the beginning.
type Input struct {
	Sync object.Sync
	// Created is when the RootSync was.
	Created time.Time
	// Explicit is its namespace strategy.
	Explicit bool
	// Version is what is to be applied, and Exact whether that alone is a change.
	Version object.Version
	Exact   bool
	// Declared is what the source says, and Withheld what of it nobody serves.
	Declared, Withheld []object.Declared
	// Refused is what of it stays as it is.
	Refused []object.Declared
	// Inventory are the objects that the RootSync has.
	Inventory []object.ID
	Others    []Other
	Kinds     Kinds
	// Scope and Unclaimed are what the configuration says: where something may be written, and
	// that no claims are.
	Scope     scope.Scope
	Unclaimed bool
	// Reach is where the roles of the RootSync hold.
	Reach object.Reach
	Now   time.Time

	// may asks for the right of a RootSync to an object; nil if each has every right.
	may func(who object.Sync, id object.ID, exists bool) object.Right
}

// Other is another RootSync.
type Other struct {
	Sync     object.Sync
	Created  time.Time
	Explicit bool
	// Reach is where its roles hold.
	Reach object.Reach
	// Has is its inventory.
	Has map[object.ID]bool
}

// Kind is how a kind is served.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
}

// Kinds are those that the API server serves, in the version that it prefers.
type Kinds map[schema.GroupKind]Kind

// Namespaced answers for a kind.
func (k Kinds) Namespaced(kind schema.GroupKind) (namespaced, known bool) {
	found, known := k[kind]
	return found.Namespaced, known
}

// of is the kind of a resource; empty if nobody serves it.
func (k Kinds) of(r schema.GroupResource) schema.GroupKind {
	for gk, kind := range k {
		if kind.Resource.GroupResource() == r {
			return gk
		}
	}
	return schema.GroupKind{}
}

// Defines are the kinds that CustomResourceDefinitions among objects define.
func (k Kinds) Defines(ids []object.ID) []schema.GroupKind {
	var out []schema.GroupKind
	for _, id := range ids {
		if gk := k.definedBy(id); gk.Kind != "" {
			out = append(out, gk)
		}
	}
	return out
}

// users are the RootSyncs that have objects of a kind, and may write any.
func (in *Input) users(kind schema.GroupKind) []string {
	var out []string
	for _, o := range in.Others {
		ids := in.having(o.Sync, func(id object.ID) bool { return id.GroupKind() == kind })
		if len(ids) > 0 && in.any(o.Sync, ids) == object.Granted {
			out = append(out, "RootSync "+string(o.Sync))
		}
	}
	slices.Sort(out)
	return out
}

// declarers are the RootSyncs that have an object, or declare it, the oldest first.
func (in *Input) declarers(id object.ID, declared bool) []object.Sync {
	var all []Other
	if declared {
		all = append(all, Other{Sync: in.Sync, Created: in.Created})
	}
	for _, o := range in.Others {
		if o.Has[id] {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Other) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Sync, b.Sync)) })
	out := make([]object.Sync, len(all))
	for i, o := range all {
		out[i] = o.Sync
	}
	return out
}

// Action is what would happen to an object.
type Action string

// The actions. The first five are changes.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	// Release takes off what says that it is the RootSync's, and leaves the rest.
	Release Action = "release"
	// Claim writes down who claims a namespace.
	Claim Action = "claim"

	// Keep leaves what should go, since something is in the way.
	Keep Action = "keep"
	// Conflict is about an object that is another's.
	Conflict Action = "conflict"
	// Wait is for something that is not there yet.
	Wait Action = "wait"
	// Fail says that it would be refused.
	Fail Action = "fail"
	// Unknown says that nobody could look.
	Unknown Action = "unknown"
)

// Writes says whether something would be written.
func (a Action) Writes() bool {
	return slices.Contains([]Action{Create, Update, Delete, Release, Claim}, a)
}

// Change is what would happen to an object, and why.
type Change struct {
	Action Action
	ID     object.ID
	// APIVersion is that in which it would be written.
	APIVersion string
	// Path is that of its file; empty for what none declares.
	Path   string
	Reason string
	// Before and After are the object as it is and as it would be, where that is known.
	Before, After *unstructured.Unstructured
}

// Result is what the next sync would do, in the order in which it would begin.
type Result struct {
	Changes []Change
	// Notes are about what could not be looked at, and is assumed.
	Notes []string
}

func (r *Result) counts(match func(Action) bool) int {
	n := 0
	for _, c := range r.Changes {
		if match(c.Action) {
			n++
		}
	}
	return n
}

// Writes is how many objects would be written.
func (r *Result) Writes() int { return r.counts(Action.Writes) }

// Failures is how many would fail, or could not be looked at.
func (r *Result) Failures() int {
	return r.counts(func(a Action) bool { return a == Fail || a == Unknown }) + len(r.Notes)
}
