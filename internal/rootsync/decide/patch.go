// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Strip is a merge patch that takes off an object what says whose it is; nil if there
// is nothing of that. It is good for the object as it is, and no other version of it.
func Strip(o metav1.Object) ([]byte, error) {
	labels, annotations := map[string]any{}, map[string]any{}
	for k, v := range o.GetLabels() {
		// Other tools have this label too.
		if object.IsStamp(true, k) && (k != object.LabelManagedBy || v == object.ManagedBy) {
			labels[k] = nil
		}
	}
	for k := range o.GetAnnotations() {
		if object.IsStamp(false, k) {
			annotations[k] = nil
		}
	}
	if len(labels)+len(annotations) == 0 {
		return nil, nil
	}
	return patch(o, labels, annotations)
}

// Mark is a merge patch that sets on an object the marks of the RootSync and the annotation "mutation: ignore", as they are on
// stamped.
func Mark(o metav1.Object, stamped *unstructured.Unstructured) ([]byte, error) {
	labels, annotations := map[string]any{}, map[string]any{}
	for k, v := range stamped.GetLabels() {
		if object.IsStamp(true, k) {
			labels[k] = v
		}
	}
	for k, v := range stamped.GetAnnotations() {
		if object.IsStamp(false, k) {
			annotations[k] = v
		}
	}
	if v, has := stamped.GetAnnotations()[object.AnnotationMutation]; has {
		annotations[object.AnnotationMutation] = v
	} else if _, has := o.GetAnnotations()[object.AnnotationMutation]; has {
		annotations[object.AnnotationMutation] = nil
	}
	return patch(o, labels, annotations)
}

func patch(o metav1.Object, labels, annotations map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "labels": labels, "annotations": annotations,
	}})
}
