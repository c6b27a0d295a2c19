// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/kinds"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

func kind(group, resource, name string) inventory.Kind {
	return inventory.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Kind: name, Namespaced: true}
}

// snapshot has a built-in kind, a defined one and one of an extension by the name
// of networks, and Secrets of two groups.
func snapshot() *inventory.Snapshot {
	extension, defined, nodes := kind("a.example.org", "networks", "Network"), kind("b.example.org", "networks", "Network"), kind("", "nodes", "Node")
	extension.Aggregated, defined.CRD, nodes.Namespaced = true, true, false
	vault := kind("vault.example.org", "secrets", "Secret")
	vault.CRD = true
	return inventory.NewSnapshot([]inventory.Kind{
		kind("", "secrets", "Secret"), vault, nodes, extension, defined, kind("c.example.org", "networks", "Network"),
		kind("rbac.authorization.k8s.io", "roles", "Role"), kind("networking.k8s.io", "networkpolicies", "NetworkPolicy"),
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, group, resource, want string }{
		{"in full", "rbac.authorization.k8s.io", "roles", "roles.rbac.authorization.k8s.io"},
		{"of the core group", "", "secrets", "secrets"},
		{"of a group with the same name in the core group", "vault.example.org", "secrets", "secrets.vault.example.org"},
		{"in the singular", "", "secret", "secrets"},
		{"in the singular, whose plural is not made with an s", "networking.k8s.io", "networkpolicy", "networkpolicies.networking.k8s.io"},
		{"as the kind", "networking.k8s.io", "NetworkPolicy", "networkpolicies.networking.k8s.io"},
		{"in capitals", "", "SECRETS", "secrets"},
		{"without its group", "", "roles", "roles.rbac.authorization.k8s.io"},
		{"in the singular and without its group", "", "Role", "roles.rbac.authorization.k8s.io"},
		{"with the beginning of its group", "rbac", "roles", "roles.rbac.authorization.k8s.io"},
		{"without its group, where there are several", "", "networks", "networks.c.example.org"},
		{"not served", "", "roads", ""},
		{"of another group", "apps", "secrets", ""},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k, ok := kinds.Resolve(snapshot(), hncv1alpha2.ResourceSpec{Group: tt.group, Resource: tt.resource})
			if got := k.GroupResource().String(); got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %t, want %q", got, ok, tt.want)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		resource string
		want     rules.Resource
	}{
		{"Role", rules.Resource{Served: true, Namespaced: true, Kind: schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}}},
		{"node", rules.Resource{Served: true, Kind: schema.GroupKind{Kind: "Node"}}},
		{"roads", rules.Resource{}},
	} {
		tt.want.ResourceSpec = hncv1alpha2.ResourceSpec{Resource: tt.resource}
		if diff := cmp.Diff(tt.want, kinds.Resolved(snapshot(), tt.want.ResourceSpec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.resource, diff)
		}
	}
}
