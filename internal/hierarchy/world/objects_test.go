// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

func TestKeep_dataOfWhatCanBeCopied(t *testing.T) {
	t.Parallel()
	secret, thing := corev1.SchemeGroupVersion.WithResource("secrets"), schema.GroupVersionResource{Group: "a.com", Version: "v1", Resource: "things"}
	for _, tt := range []struct {
		name     string
		resource schema.GroupVersionResource
		kind     string
		want     bool
	}{
		{"a Secret", secret, "Opaque", true},
		{"a release of Helm", secret, "helm.sh/release.v1", false},
		{"a token of a ServiceAccount", secret, "kubernetes.io/service-account-token", false},
		{"something else of that type", thing, "helm.sh/release.v1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := &unstructured.Unstructured{Object: map[string]any{"type": tt.kind, "data": map[string]any{"k": "dg=="}}}
			u.SetName("x")
			kept, ok := keep(inventory.ObjectSource{Resource: tt.resource}, u).(*unstructured.Unstructured)
			if !ok || kept.GetName() != "x" || kept.Object["type"] != tt.kind {
				t.Fatalf("kept: %+v", kept)
			}
			if _, has := kept.Object["data"]; has != tt.want {
				t.Errorf("its data is kept: %t", has)
			}
		})
	}
}
