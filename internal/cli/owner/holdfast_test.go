// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestOf_whatHoldfastKeeps(t *testing.T) {
	t.Parallel()
	const rbac = "rbac.authorization.k8s.io"
	for _, tt := range []struct {
		name      string
		id        object.ID
		metadata  string
		namespace string // annotations of its namespace
		want      string
	}{
		{"a policy", object.ID{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: "holdfast-self"}, `labels: {app.kubernetes.io/managed-by: holdfast}`, "",
			"Holdfast: Holdfast, which puts it back while the ClusterRole holdfast-anchor is there"},
		{"its definition", object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "holdfasts.holdfast.dev"}, `managedFields: [{manager: holdfast-crds}]`, "",
			"Holdfast: Holdfast, which brings this kind and keeps it up to date"},
		{"its definition, applied by somebody", object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "holdfasts.holdfast.dev"}, ``, "",
			"Holdfast: Holdfast, of which it is a kind"},
		{"what that manager has written elsewhere", object.ID{Kind: "ConfigMap", Namespace: "a", Name: "x"}, `managedFields: [{manager: holdfast-crds}]`, "",
			"Nobody: nobody that left a mark; written by holdfast-crds"},
		{"its namespace", object.NamespaceID("holdfast-system"), `labels: {app.kubernetes.io/part-of: holdfast}`, "", "Holdfast: Holdfast's installation"},
		{"its status", object.ID{Group: "holdfast.dev", Kind: "Holdfast", Name: "holdfast"}, ``, "", "Holdfast: Holdfast, which says in it how it is"},
		{"an inventory", object.ID{Group: "kpt.dev", Kind: "ResourceGroup", Namespace: rootSyncs, Name: "shop"}, ``, "", "RootSync: RootSync shop, of which it is the inventory"},
		{"an inventory elsewhere", object.ID{Group: "kpt.dev", Kind: "ResourceGroup", Namespace: "a", Name: "shop"}, ``, "", "Nobody: nobody that left a mark"},
		{"an account", object.ID{Kind: "ServiceAccount", Namespace: rootSyncs, Name: "root-reconciler-shop"}, ``, "", "RootSync: RootSync shop, of which it is the account"},
		{"the account of the first one", object.ID{Kind: "ServiceAccount", Namespace: rootSyncs, Name: "root-reconciler"}, ``, "", "RootSync: RootSync root-sync, of which it is the account"},
		{"another account there", object.ID{Kind: "ServiceAccount", Namespace: rootSyncs, Name: "default"}, ``, "", "Nobody: nobody that left a mark"},
		{"rights", object.ID{Group: rbac, Kind: "ClusterRoleBinding", Name: "x"}, `labels: {configsync.gke.io/sync-kind: RootSync, configsync.gke.io/sync-name: shop}`, "",
			"RootSync: RootSync shop, of which it is the binding of rights"},
		{"the place of a subnamespace", object.ID{Group: "hnc.x-k8s.io", Kind: "HierarchyConfiguration", Namespace: "a", Name: "hierarchy"}, ``, `hnc.x-k8s.io/subnamespace-of: acme`,
			"Anchor: the anchor in namespace acme, which says where this namespace stands"},
		{"the place of another namespace", object.ID{Group: "hnc.x-k8s.io", Kind: "HierarchyConfiguration", Namespace: "a", Name: "hierarchy"}, ``, ``, "Nobody: nobody that left a mark"},
		{"what a RootSync has of it", object.NamespaceID("holdfast-system"), `labels: {app.kubernetes.io/part-of: holdfast}, annotations: {configmanagement.gke.io/managed: enabled,
			configsync.gke.io/resource-id: _namespace_holdfast-system, configsync.gke.io/manager: ':root_shop', configmanagement.gke.io/source-path: x.yaml}`, "",
			"RootSync: RootSync shop (declared), file x.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := factsOf(t, tt.id, tt.metadata, false)
			if f.Namespace == nil {
				f.Namespace = read[metav1.PartialObjectMetadata](t, `metadata: {name: a, annotations: {`+tt.namespace+`}}`)
			}
			a := Of(f).Owner
			if diff := cmp.Diff(tt.want, string(a.By)+": "+a.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestText_ofAPodThatWaits(t *testing.T) {
	t.Parallel()
	f := factsOf(t, pod, ``, false)
	f.Waiting = "it waits for EvictionPolicy strimzi"
	if diff := cmp.Diff([]string{"owner: nobody that left a mark", "  eviction:    it waits for EvictionPolicy strimzi"}, Of(f).Text(noon, false)); diff != "" {
		t.Error(diff)
	}
}
