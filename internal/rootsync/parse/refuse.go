// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// selecting are the kinds by which Config Sync finds out what a selector selects.
var selecting = []schema.GroupKind{
	{Group: "configmanagement.gke.io", Kind: "ClusterSelector"},
	{Group: "configmanagement.gke.io", Kind: "NamespaceSelector"},
	{Group: "clusterregistry.k8s.io", Kind: "Cluster"},
}

// refuse takes out what has to do with selectors, which are not built. To apply it
// everywhere would put the configuration of one cluster onto another. In Config Sync a
// Namespace that is not selected takes what is in it along, so here it does so too.
func refuse(objects []object.Declared) (rest, refused []object.Declared, errs []*knv.Error) {
	without := map[string]bool{}
	for _, d := range objects {
		err := selects(d.Object)
		if err == nil {
			rest = append(rest, d)
			continue
		}
		refused, errs = append(refused, d), append(errs, err.About(knv.Declared(d)))
		if isNamespace(d.Object) {
			without[d.Object.GetName()] = true
		}
	}
	inside := map[string][]object.Declared{}
	rest = slices.DeleteFunc(rest, func(d object.Declared) bool {
		ns := d.Object.GetNamespace()
		if without[ns] {
			inside[ns] = append(inside[ns], d)
		}
		return without[ns]
	})
	for _, ns := range slices.Sorted(maps.Keys(inside)) {
		err := knv.New(knv.IllegalSelector, "The Namespace %q has a selector and is not applied, so what is in it is not applied either", ns)
		for _, d := range inside[ns] {
			refused, err = append(refused, d), err.About(knv.Declared(d))
		}
		errs = append(errs, err)
	}
	return rest, refused, errs
}

// selects is the error of an object that has a selector, or is one; nil if neither.
func selects(o *unstructured.Unstructured) *knv.Error {
	if gk := o.GroupVersionKind().GroupKind(); slices.Contains(selecting, gk) {
		return knv.New(knv.UnsupportedKind, "%s cannot be declared, since selectors are not built. It is not applied, and what it is for is refused. Remove it from the source", gk)
	}
	for _, key := range []string{clusterSelector, clusterNameSelector, namespaceSelector} {
		if _, has := o.GetAnnotations()[key]; has {
			return knv.New(knv.IllegalSelector, "The annotation %s is not supported, so this object is not applied: it stays as it was applied last. "+
				"Remove the annotation, and keep what is for some clusters or namespaces only in directories of their own, with a RootSync or a kustomize overlay for each", key)
		}
	}
	return nil
}
