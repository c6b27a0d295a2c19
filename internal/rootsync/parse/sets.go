// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// collisions are objects that are declared more than once, in whichever version.
func collisions(objects []object.Declared) []*knv.Error {
	same := map[object.ID][]knv.Resource{}
	for _, d := range objects {
		if id := d.ID(); id.Name != "" {
			same[id] = append(same[id], knv.Declared(d))
		}
	}
	var errs []*knv.Error
	for id, found := range same {
		if len(found) > 1 {
			errs = append(errs, knv.New(knv.NameCollision, "%s is declared %d times, and one of them can be applied only: rename or remove the others", id, len(found)).About(found...))
		}
	}
	return errs
}

// inDisabled are managed objects in a Namespace that the same source declares as not
// managed.
func inDisabled(objects []object.Declared) []*knv.Error {
	disabled := map[string]bool{}
	for _, d := range objects {
		if isNamespace(d.Object) && isDisabled(d.Object) {
			disabled[d.Object.GetName()] = true
		}
	}
	inside := map[string][]knv.Resource{}
	for _, d := range objects {
		if ns := d.Object.GetNamespace(); disabled[ns] && !isDisabled(d.Object) {
			inside[ns] = append(inside[ns], knv.Declared(d))
		}
	}
	var errs []*knv.Error
	for ns, found := range inside {
		errs = append(errs, knv.New(knv.InDisabledNamespace, "The Namespace %q is declared as not managed, and objects in it are managed: "+
			"take the annotation %s: %s off the Namespace, or put it on them", ns, object.AnnotationManaged, object.ManagedDisabled).About(found...))
	}
	return errs
}

// Defines are the kinds that the CRDs among objects define.
func Defines(objects []object.Declared) []schema.GroupKind {
	found := map[schema.GroupKind]bool{}
	for _, d := range objects {
		if gk, ok := defines(d.Object); ok {
			found[gk] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupKind) int {
		return object.ID{Group: a.Group, Kind: a.Kind}.Compare(object.ID{Group: b.Group, Kind: b.Kind})
	})
}

// CRDsInUse are the errors of a commit that takes away a CRD and leaves objects of its
// kind, which would go with it. The former kinds are those that the CRDs of the commit
// before defined.
func CRDsInUse(former []schema.GroupKind, now []object.Declared) []*knv.Error {
	still := Defines(now)
	var errs []*knv.Error
	for _, d := range now {
		gk := d.Object.GroupVersionKind().GroupKind()
		if slices.Contains(former, gk) && !slices.Contains(still, gk) {
			errs = append(errs, knv.New(knv.CRDInUse, "The CustomResourceDefinition of %s is gone from the source, and objects of the kind are still in it: "+
				"remove them in the same commit, or declare the CustomResourceDefinition again", gk).About(knv.Declared(d)))
		}
	}
	return knv.Sorted(errs)
}

// Declares is the error of a source that declares the RootSync that syncs it; nil if it
// does not.
func Declares(objects []object.Declared, sync object.Sync) *knv.Error {
	id := object.ID{Group: "configsync.gke.io", Kind: "RootSync", Namespace: object.SyncNamespace, Name: string(sync)}
	for _, d := range objects {
		if d.ID() == id {
			return knv.New(knv.SelfReconcile, "RootSync %s/%s must not manage itself in its repo: declare it in the source of another RootSync", id.Namespace, id.Name).About(knv.Declared(d))
		}
	}
	return nil
}
