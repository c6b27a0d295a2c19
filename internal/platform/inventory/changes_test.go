// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSameDefinition(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(time.Unix(1, 0))
	for _, tt := range []struct {
		name   string
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		{name: "its status", change: func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "8" }, want: true},
		{name: "a mark", change: func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{"holdfast.dev/marked": "true"} }, want: true},
		{name: "its spec", change: func(o *metav1.PartialObjectMetadata) { o.Generation = 2 }},
		{name: "its end begins, or goes on", change: func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &deleted }},
		{name: "another one of the name", change: func(o *metav1.PartialObjectMetadata) { o.UID = "v" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7", Generation: 1}}
			after := before.DeepCopy()
			tt.change(after)
			if got := sameDefinition(before, after); got != tt.want {
				t.Errorf("same: got %t, want %t", got, tt.want)
			}
		})
	}
	if sameDefinition("a tombstone", nil) {
		t.Error("what is no object has to be looked at")
	}
}

func apiService(available string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1.example.com", "uid": "u", "resourceVersion": "7"},
		"spec":     map[string]any{"group": "example.com", "version": "v1", "service": map[string]any{"name": "s", "namespace": "n"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": available}}},
	}}
}

func TestSameService(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*unstructured.Unstructured)
		want   bool
	}{
		{name: "a mark", change: func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"holdfast.dev/marked": "true"})
			o.SetResourceVersion("8")
		}, want: true},
		{name: "what its server says beside", change: func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, []any{
				map[string]any{"type": "Other", "status": "True"},
				map[string]any{"type": "Available", "status": "False", "message": "another one"},
			}, "status", "conditions")
		}, want: true},
		{name: "its server answers", change: func(o *unstructured.Unstructured) { o.Object["status"] = apiService("True").Object["status"] }},
		{name: "another server", change: func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "t", "spec", "service", "name")
		}},
		{name: "its end begins", change: func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1, 0)))) }},
		{name: "another one of the name", change: func(o *unstructured.Unstructured) { o.SetUID("v") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after := apiService("False"), apiService("False")
			tt.change(after)
			a, _ := stripService(before)
			b, _ := stripService(after)
			if got := sameService(a, b); got != tt.want {
				t.Errorf("same: got %t, want %t", got, tt.want)
			}
		})
	}
	if sameService("a tombstone", nil) {
		t.Error("what is no object has to be looked at")
	}
}

func TestStripService(t *testing.T) {
	t.Parallel()
	full := apiService("True")
	full.SetLabels(map[string]string{"a": "b"})
	full.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	got, err := stripService(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(apiService("True"), got); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
	if got, err := stripService("a tombstone"); err != nil || got != "a tombstone" {
		t.Errorf("what is no object: got %v, %v", got, err)
	}
}
