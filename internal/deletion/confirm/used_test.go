// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

func TestDefinedBy(t *testing.T) {
	t.Parallel()
	kind := func(version string, namespaced bool) inventory.Kind {
		return inventory.Kind{
			Resource: schema.GroupVersionResource{Group: "example.org", Version: version, Resource: "gadgets"},
			Kind:     "Gadget", Namespaced: namespaced, CRD: true,
		}
	}
	for _, tt := range []struct {
		name, scope, versions string
		want                  inventory.Kind
	}{
		{"the only version", "Namespaced", `{"name":"v1","served":true,"storage":true}`, kind("v1", true)},
		{"the stored version, which needs no conversion", "Cluster", `{"name":"v1","served":true},{"name":"v2","served":true,"storage":true}`, kind("v2", false)},
		{"a served version where the stored one is not", "Cluster", `{"name":"v1","served":true},{"name":"v2","storage":true}`, kind("v1", false)},
		{"none where none is served", "Cluster", `{"name":"v1","storage":true}`, kind("", false)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := definedBy([]byte(`{"spec":{"group":"example.org","scope":"` + tt.scope + `","names":{"plural":"gadgets","kind":"Gadget"},"versions":[` + tt.versions + `]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("kind (-want +got):\n%s", diff)
			}
		})
	}
}
