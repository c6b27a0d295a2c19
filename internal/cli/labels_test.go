// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	type change = func(target) (map[string]any, string)
	tests := []struct {
		name    string
		change  change
		labels  map[string]string
		wantSet map[string]any
		want    string
	}{
		{"protect", protectChange("Always"), nil, map[string]any{strictLabel: "Always"}, "protected"},
		{"protect again", protectChange("Always"), map[string]string{strictLabel: "Always"}, nil, "already protected"},
		{"protect mends a value that means nothing", protectChange("Always"), map[string]string{strictLabel: "always"}, map[string]any{strictLabel: "Always"}, "protected"},
		{"protect beside Karmada's label", protectChange("Always"), map[string]string{karmadaLabel: "Always"}, map[string]any{strictLabel: "Always"}, "protected"},
		{"protect while in use", protectChange("Cascading"), nil, map[string]any{strictLabel: "Cascading"}, "protected"},
		{"protect while in use only, from now on", protectChange("Cascading"), map[string]string{strictLabel: "Always"}, map[string]any{strictLabel: "Cascading"}, "protected"},
		{"unprotect leaves marks alone", unprotectChange, map[string]string{strictLabel: "Always", v1alpha1.ProtectedByMark: "x"}, map[string]any{strictLabel: nil}, "unprotected"},
		{"unprotect what only a protection protects", unprotectChange, map[string]string{v1alpha1.ProtectedByMark: "x"}, nil, "carries no protecting label"},
		{"unprotect what only holds something", unprotectChange, map[string]string{v1alpha1.HoldsProtectedMark: "true"}, nil, "not protected"},
		{"unprotect", unprotectChange, map[string]string{strictLabel: "Always", "app": "web"}, map[string]any{strictLabel: nil}, "unprotected"},
		{"unprotect what is not protected", unprotectChange, map[string]string{"app": "web"}, nil, "not protected"},
		{
			"unprotect takes the upstream labels too, whatever their values", unprotectChange,
			map[string]string{strictLabel: "Always", karmadaLabel: "", kruiseLabel: "Cascading"},
			map[string]any{strictLabel: nil, karmadaLabel: nil, kruiseLabel: nil},
			"unprotected (removed " + strictLabel + ", " + karmadaLabel + ", " + kruiseLabel + ")",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "1", Labels: tt.labels}}
			metav1.SetMetaDataLabel(&o.ObjectMeta, v1alpha1.MarkedLabel, "1")
			set, got := tt.change(target{meta: o})
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.wantSet, set); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProtectable(t *testing.T) {
	t.Parallel()
	vap := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}
	deployments := deploymentKind.GroupResource()
	const (
		beyond = "the API server asks no policy about objects of this kind, so a label on one protects nothing; guard them by RBAC"
		unused = "--mode Cascading means nothing for configmaps, which cannot be in use; it is for namespaces, " +
			"customresourcedefinitions.apiextensions.k8s.io, services, ingresses.networking.k8s.io, deployments.apps, statefulsets.apps, " +
			"replicasets.apps, clonesets.apps.kruise.io, statefulsets.apps.kruise.io, uniteddeployments.apps.kruise.io. Protect this one with --mode Always"
	)
	for _, tt := range []struct {
		name string
		kind schema.GroupResource
		mode string
		want string
	}{
		{"anything always", configMaps, "Always", ""},
		{"a workload while in use", deployments, "Cascading", ""},
		{"a config map while in use", configMaps, "Cascading", unused},
		{"a policy", vap, "Always", beyond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := protectable(tt.kind, tt.mode); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRemains_saysWhatToDo(t *testing.T) {
	t.Parallel()
	const (
		start = "configmaps/web in namespace shop is still protected, by ResourceDeletionProtection "
		way   = ". To let this one object go for a while: kubectl holdfast override ask configmaps/web -n shop --reason WHY. " +
			"To protect it no longer, change what the protection selects: "
	)
	describe := func(o *metav1.PartialObjectMetadata) {
		o.Annotations = map[string]string{v1alpha1.ProtectedByMark: "data (for the shop)"}
	}
	for _, tt := range []struct {
		name   string
		object *metav1.PartialObjectMetadata
		want   string
	}{
		{"a label is gone by then", labelled(strictLabel, "Always"), ""},
		{"one protection", labelled(v1alpha1.ProtectedByMark, "data", describe), start + "data (for the shop)" + way + "kubectl holdfast protections data"},
		{"several", labelled(v1alpha1.ProtectedByMark, "2_protections"), start + "2_protections" + way + "kubectl holdfast protections"},
		{"while in use", labelled(v1alpha1.ProtectedWhileUsedByMark, "data"), start + "data" + way + "kubectl holdfast protections data"},
		{"being deleted", labelled(v1alpha1.ProtectedByMark, "data", beingDeleted), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := remains(newTarget(configMapKind, tt.object)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
