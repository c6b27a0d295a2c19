// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Copied makes the copy of a source for a namespace: its content and its name,
// labels and annotations, without those of HNC and those that the Rules strip,
// and with two labels that say where it comes from. Status and all other
// metadata are not copied. The source stays as it is.
func (r Rules) Copied(source *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	c := r.canonical(source)
	labels := c.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hncv1alpha2.LabelInheritedFrom] = source.GetNamespace()
	labels[hncv1alpha2.LabelManagedBy] = hncv1alpha2.ManagedBy
	c.SetLabels(labels)
	c.SetNamespace(namespace)
	return c
}

// UpToDate says whether an object in a cluster is the copy that it should be. What
// it has beyond a copy, a status, a UID and the like, does not count.
func UpToDate(have, copied *unstructured.Unstructured) bool {
	from, want := have.GetLabels()[hncv1alpha2.LabelInheritedFrom], copied.GetLabels()[hncv1alpha2.LabelInheritedFrom]
	return from == want && equality.Semantic.DeepEqual(Rules{}.canonical(have).Object, Rules{}.canonical(copied).Object)
}

// canonical is what an object and its copy have in common.
func (r Rules) canonical(u *unstructured.Unstructured) *unstructured.Unstructured {
	content := make(map[string]any, len(u.Object))
	for field, value := range u.Object {
		if field != "metadata" && field != "status" {
			content[field] = value
		}
	}
	c := (&unstructured.Unstructured{Object: content}).DeepCopy()
	c.SetName(u.GetName())
	c.SetLabels(kept(u.GetLabels(), r.StripLabels))
	c.SetAnnotations(kept(u.GetAnnotations(), r.StripAnnotations))
	return c
}

// kept are the labels or annotations that are copied; nil if none is.
func kept(m map[string]string, strip map[string]bool) map[string]string {
	var out map[string]string
	for k, v := range m {
		if tree.OfHNC(k) || strip[k] {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(m))
		}
		out[k] = v
	}
	return out
}
