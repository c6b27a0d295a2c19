// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// moving is an object that others write, too.
type moving struct {
	dynamic.ResourceInterface
	// states are what a read finds, one after the other, and answers what becomes
	// of the writes; the last of each stays.
	states  []*unstructured.Unstructured
	answers []error
	written []*unstructured.Unstructured
}

func next[T any](of *[]T) T {
	first := (*of)[0]
	if len(*of) > 1 {
		*of = (*of)[1:]
	}
	return first
}

func (m *moving) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	return next(&m.states), nil
}

func (m *moving) Update(_ context.Context, o *unstructured.Unstructured, _ metav1.UpdateOptions, _ ...string) (*unstructured.Unstructured, error) {
	m.written = append(m.written, o)
	return o, next(&m.answers)
}

func hierarchyAt(version, parent string, children ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "hierarchy", "resourceVersion": version},
		"spec":     map[string]any{"parent": parent, "labels": []any{}},
		"status":   map[string]any{"children": children},
	}}
}

func TestChange_whileOthersWrite(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(hierarchiesResource.GroupResource(), "hierarchy", errors.New("somebody was faster"))
	tests := []struct {
		name    string
		states  []*unstructured.Unstructured
		answers []error
		wantErr bool
		want    []*unstructured.Unstructured
	}{
		{"nobody does", nil, []error{nil}, false, []*unstructured.Unstructured{hierarchyAt("1", "new")}},
		{"the controller wrote its status", []*unstructured.Unstructured{hierarchyAt("2", "old", "c")}, []error{conflict, nil}, false,
			[]*unstructured.Unstructured{hierarchyAt("1", "new"), hierarchyAt("2", "new", "c")}},
		{"somebody changed the spec by which it was decided", []*unstructured.Unstructured{hierarchyAt("2", "other")}, []error{conflict}, true,
			[]*unstructured.Unstructured{hierarchyAt("1", "new")}},
		{"a rule refuses with the code of a conflict", []*unstructured.Unstructured{hierarchyAt("1", "old")}, []error{conflict}, true,
			[]*unstructured.Unstructured{hierarchyAt("1", "new")}},
		{"it fails for another reason", nil, []error{errors.New("no")}, true, []*unstructured.Unstructured{hierarchyAt("1", "new")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &moving{states: tt.states, answers: tt.answers}
			err := singleton{client: m, name: "hierarchy"}.change(t.Context(), hierarchyAt("1", "old"), func(o *unstructured.Unstructured) error {
				return setHierarchy(o, hncv1alpha2.HierarchyConfigurationSpec{Parent: "new"})
			})
			if (err != nil) != tt.wantErr {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, m.written); diff != "" {
				t.Errorf("written (-want +got)\n%s", diff)
			}
		})
	}
}
