// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sameDefinition says that nothing changed in a CustomResourceDefinition that
// decides what is served. Its labels do not, among them Holdfast's own marks, and
// of its status what follows on a new spec is waited for all the same. While it is
// being deleted its status does: what can be done with its objects gets less.
func sameDefinition(before, after any) bool {
	a, okA := before.(*metav1.PartialObjectMetadata)
	b, okB := after.(*metav1.PartialObjectMetadata)
	return okA && okB && a.UID == b.UID && a.Generation == b.Generation && b.DeletionTimestamp == nil
}

// sameService says that of an APIService neither what it stands for changed nor
// whether its server answers.
func sameService(before, after any) bool {
	a, okA := before.(*unstructured.Unstructured)
	b, okB := after.(*unstructured.Unstructured)
	return okA && okB && a.GetUID() == b.GetUID() && b.GetDeletionTimestamp() == nil &&
		equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"]) && available(a) == available(b)
}

// stripService keeps of an APIService what identifies it and what sameService
// looks at.
func stripService(in any) (any, error) {
	o, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	out := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": o.GetName(), "uid": string(o.GetUID()), "resourceVersion": o.GetResourceVersion()},
		"spec":     o.Object["spec"],
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": availableCondition, "status": available(o)},
		}},
	}}
	out.SetGroupVersionKind(o.GroupVersionKind())
	out.SetDeletionTimestamp(o.GetDeletionTimestamp())
	return out, nil
}

// availableCondition says of an APIService whether its server answers.
const availableCondition = "Available"

func available(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == availableCondition {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}
