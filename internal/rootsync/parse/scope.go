// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// extended are scopes with those of the CRDs of a source on top.
type extended struct {
	declared map[schema.GroupKind]bool
	rest     Scopes
}

// Namespaced answers for a kind.
func (e extended) Namespaced(kind schema.GroupKind) (namespaced, known bool) {
	if namespaced, known = e.declared[kind]; known || e.rest == nil {
		return namespaced, known
	}
	return e.rest.Namespaced(kind)
}

// with adds the kinds that CRDs among the objects define: they are served once those are
// applied. A CRD that is not to be managed is not.
func with(scopes Scopes, objects []object.Declared) Scopes {
	declared := map[schema.GroupKind]bool{}
	for _, d := range objects {
		if gk, ok := defines(d.Object); ok && !isDisabled(d.Object) {
			scope, _, _ := unstructured.NestedString(d.Object.Object, "spec", "scope")
			declared[gk] = scope != "Cluster"
		}
	}
	return extended{declared, scopes}
}

// defines is the kind that a CRD defines; false for what is none.
func defines(o *unstructured.Unstructured) (schema.GroupKind, bool) {
	if !isCRD(o) {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, group != "" && kind != ""
}

// place says where an object is: what is in a namespace and names none is in "default".
func place(d object.Declared, scopes Scopes) (object.Declared, *knv.Error) {
	gk := d.Object.GroupVersionKind().GroupKind()
	namespaced, known := scopes.Namespaced(gk)
	switch {
	case !known:
		return d, knv.New(knv.UnknownKind, "The cluster serves no kind %q. This object waits, and the others are applied. "+
			"If the kind is of a CustomResourceDefinition, install or declare that; if the API server has stopped to serve it, move on to the kind that follows it", gk).About(knv.Declared(d))
	case !namespaced && d.Object.GetNamespace() != "":
		return d, knv.New(knv.NamespaceOnCluster, "%s is not of a namespace, and metadata.namespace is %q: remove the field", gk, d.Object.GetNamespace()).About(knv.Declared(d))
	case namespaced && d.Object.GetNamespace() == "":
		d.Object.SetNamespace("default")
	}
	return d, nil
}
