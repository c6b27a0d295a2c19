// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const folder = "../../../config/crd/hnc"

func read(t *testing.T, resource string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, GroupName+"_"+resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// at follows a path; "items" and "properties" steps are named like any other.
func at(o any, path ...string) any {
	for _, step := range path {
		m, ok := o.(map[string]any)
		if !ok {
			return nil
		}
		o = m[step]
	}
	return o
}

func properties(t *testing.T, resource string) any {
	t.Helper()
	versions, ok, err := unstructured.NestedSlice(read(t, resource), "spec", "versions")
	if err != nil || !ok || len(versions) != 1 {
		t.Fatalf("%s has no one version: %v", resource, err)
	}
	return at(versions[0], "schema", "openAPIV3Schema", "properties")
}

// TestSchema_isThatOfHNC holds the CRDs to the schemas that clients know.
func TestSchema_isThatOfHNC(t *testing.T) {
	t.Parallel()
	pair := []any{"key", "value"}
	condition := []any{"lastTransitionTime", "message", "reason", "status", "type"}
	property := func(path ...string) []string {
		var out []string
		for i, p := range path {
			if i > 0 && p != "items" && p != "required" && p != "enum" && p != "type" && p != "minimum" {
				out = append(out, "properties")
			}
			out = append(out, p)
		}
		return out
	}
	tests := []struct {
		name     string
		resource string
		path     []string
		want     any
	}{
		{"a HierarchyConfiguration has one name", ResourceHierarchyConfigurations, property("metadata", "name", "enum"), []any{HierarchyConfigurationName}},
		{"an HNCConfiguration has one name", ResourceHNCConfigurations, property("metadata", "name", "enum"), []any{HNCConfigurationName}},
		{"an anchor has any name", ResourceSubnamespaceAnchors, property("metadata"), map[string]any{"type": "object"}},
		{"a parent is a string", ResourceHierarchyConfigurations, property("spec", "parent", "type"), "string"},
		{"no field of a spec is required", ResourceHierarchyConfigurations, property("spec", "required"), nil},
		{"cascading is a boolean", ResourceHierarchyConfigurations, property("spec", "allowCascadingDeletion", "type"), "boolean"},
		{"labels are pairs", ResourceHierarchyConfigurations, property("spec", "labels", "items", "required"), pair},
		{"annotations are pairs", ResourceHierarchyConfigurations, property("spec", "annotations", "items", "required"), pair},
		{"children are strings", ResourceHierarchyConfigurations, property("status", "children", "items", "type"), "string"},
		{"conditions are those of Kubernetes", ResourceHierarchyConfigurations, property("status", "conditions", "items", "required"), condition},
		{"labels of an anchor are pairs", ResourceSubnamespaceAnchors, property("spec", "labels", "items", "required"), pair},
		{"annotations of an anchor are pairs", ResourceSubnamespaceAnchors, property("spec", "annotations", "items", "required"), pair},
		{"the state of an anchor is status.status, and any string", ResourceSubnamespaceAnchors, property("status", "status", "enum"), nil},
		{"the state of an anchor is a string", ResourceSubnamespaceAnchors, property("status", "status", "type"), "string"},
		{"a resource must be named", ResourceHNCConfigurations, property("spec", "resources", "items", "required"), []any{"resource"}},
		{
			"a mode is one of four", ResourceHNCConfigurations, property("spec", "resources", "items", "mode", "enum"),
			[]any{"Propagate", "Ignore", "Remove", "AllowPropagate"},
		},
		{"the mode in force is any string", ResourceHNCConfigurations, property("status", "resources", "items", "mode", "enum"), nil},
		{
			"a resource in force has group, version and resource", ResourceHNCConfigurations, property("status", "resources", "items", "required"),
			[]any{"group", "resource", "version"},
		},
		{"copies are counted from 0", ResourceHNCConfigurations, property("status", "resources", "items", "numPropagatedObjects", "minimum"), float64(0)},
		{"sources are counted from 0", ResourceHNCConfigurations, property("status", "resources", "items", "numSourceObjects", "minimum"), float64(0)},
		{"conditions of an HNCConfiguration are those of Kubernetes", ResourceHNCConfigurations, property("status", "conditions", "items", "required"), condition},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, at(properties(t, tt.resource), tt.path...)); diff != "" {
				t.Errorf("at %v (-want +got):\n%s", tt.path, diff)
			}
		})
	}
}

// TestSchema_allowsSeveralConditionsOfOneType, of different reasons: a list keyed
// by the type would refuse them.
func TestSchema_allowsSeveralConditionsOfOneType(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{ResourceHierarchyConfigurations, ResourceHNCConfigurations} {
		if got := at(properties(t, resource), "status", "properties", "conditions", "x-kubernetes-list-type"); got != "atomic" {
			t.Errorf("%s: the list is %v", resource, got)
		}
	}
}

func TestCRDs_haveTheNamesOfHNC(t *testing.T) {
	t.Parallel()
	tests := []struct {
		resource string
		names    map[string]any
		scope    string
	}{
		{ResourceHierarchyConfigurations, map[string]any{
			"kind": "HierarchyConfiguration", "listKind": "HierarchyConfigurationList", "plural": "hierarchyconfigurations", "singular": "hierarchyconfiguration",
		}, "Namespaced"},
		{ResourceSubnamespaceAnchors, map[string]any{
			"kind": "SubnamespaceAnchor", "listKind": "SubnamespaceAnchorList", "plural": "subnamespaceanchors", "singular": "subnamespaceanchor",
			"shortNames": []any{"subns"},
		}, "Namespaced"},
		{ResourceHNCConfigurations, map[string]any{
			"kind": "HNCConfiguration", "listKind": "HNCConfigurationList", "plural": "hncconfigurations", "singular": "hncconfiguration",
		}, "Cluster"},
	}
	for _, tt := range tests {
		t.Run(tt.resource, func(t *testing.T) {
			t.Parallel()
			spec := at(read(t, tt.resource), "spec")
			if diff := cmp.Diff(tt.names, at(spec, "names")); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if got := at(spec, "scope"); got != tt.scope {
				t.Errorf("the scope is %v", got)
			}
			versions, ok := at(spec, "versions").([]any)
			if !ok || len(versions) != 1 {
				t.Fatalf("the versions are %v", versions)
			}
			want := map[string]any{"name": GroupVersion.Version, "served": true, "storage": true}
			got := map[string]any{"name": at(versions[0], "name"), "served": at(versions[0], "served"), "storage": at(versions[0], "storage")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the version (-want +got):\n%s", diff)
			}
			if got := at(versions[0], "subresources"); got != nil {
				t.Errorf("HNC writes spec and status together, and the subresources are %v", got)
			}
		})
	}
}

func TestQuotas_haveNoCRD(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(folder, GroupName+"_"+ResourceHierarchicalResourceQuotas+".yaml")); !os.IsNotExist(err) {
		t.Errorf("a quota that nothing enforces must be refused: %v", err)
	}
}
