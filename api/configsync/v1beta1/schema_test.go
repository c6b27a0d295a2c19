// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func versions(t *testing.T) (crd map[string]any, versions []any) {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/configsync/configsync.gke.io_rootsyncs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, err = unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil || len(versions) != 2 {
		t.Fatalf("there are not two versions: %v", err)
	}
	return crd, versions
}

// TestSchema_isServedTwice holds both versions to one schema, since nothing converts.
func TestSchema_isServedTwice(t *testing.T) {
	t.Parallel()
	crd, list := versions(t)
	if got, _, _ := unstructured.NestedString(crd, "spec", "conversion", "strategy"); got != "None" {
		t.Errorf("the conversion is %q", got)
	}
	want := []map[string]any{
		{"name": "v1alpha1", "served": true, "storage": false},
		{"name": "v1beta1", "served": true, "storage": true},
	}
	var rest []map[string]any
	for i, v := range list {
		version, ok := v.(map[string]any)
		if !ok {
			t.Fatal("a version is no object")
		}
		for key, value := range want[i] {
			if version[key] != value {
				t.Errorf("version %d has %s %v", i, key, version[key])
			}
			delete(version, key)
		}
		rest = append(rest, version)
	}
	if diff := cmp.Diff(rest[0], rest[1]); diff != "" {
		t.Errorf("the versions differ:\n%s", diff)
	}
}

// TestSchema_hasTheDefaultsOfConfigSync and no others: whoever reads the spec sees what
// its author wrote.
func TestSchema_hasTheDefaultsOfConfigSync(t *testing.T) {
	t.Parallel()
	_, list := versions(t)
	got := map[string]any{}
	collect(got, "", list[1])
	want := map[string]any{
		"spec.sourceType":           "git",
		"spec.monitoring.enabled":   true,
		"status.observedGeneration": float64(0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// collect finds defaults by the paths of their fields.
func collect(into map[string]any, path string, schema any) {
	m, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if d, set := m["default"]; set && path != "" {
		into[path] = d
	}
	for key, value := range m {
		switch key {
		case "schema", "openAPIV3Schema", "items":
			collect(into, path, value)
		case "properties":
			fields, _ := value.(map[string]any)
			for name, field := range fields {
				below := name
				if path != "" {
					below = path + "." + name
				}
				collect(into, below, field)
			}
		}
	}
}

func TestSchema_hasTheColumnsOfConfigSync(t *testing.T) {
	t.Parallel()
	_, list := versions(t)
	columns, _, err := unstructured.NestedSlice(list[1].(map[string]any), "additionalPrinterColumns")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range columns {
		column, _ := c.(map[string]any)
		got = append(got, column["name"].(string)+" "+column["type"].(string)+" "+column["jsonPath"].(string))
	}
	want := []string{
		"RenderingCommit string .status.rendering.commit",
		"RenderingErrorCount integer .status.rendering.errorSummary.totalCount",
		"SourceCommit string .status.source.commit",
		"SourceErrorCount integer .status.source.errorSummary.totalCount",
		"SyncCommit string .status.sync.commit",
		"SyncErrorCount integer .status.sync.errorSummary.totalCount",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecode_takesWhatTheSchemaLetsThrough: one object that cannot be decoded would keep
// all from being listed.
func TestDecode_takesWhatTheSchemaLetsThrough(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"git":{"repo":"r","auth":"none","period":"often"}}`,
		`{"override":null}`,
		`{"override":{"reconcileTimeout":"1 day","resources":[{"cpuLimit":5000000000,"cpuRequest":"1e1.5","memoryLimit":"2Gi","memoryRequest":1}]}}`,
		`{"helm":{"repo":"r","chart":"c","auth":"none","values":[1,{"a":null}]}}`,
		`{"helm":{"repo":"r","chart":"c","auth":"none","values":"text","secretRef":null}}`,
	} {
		var spec RootSyncSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		back, err := json.Marshal(spec.DeepCopy())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var want, got map[string]any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(back, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withoutNulls(want), got); diff != "" {
			t.Errorf("%s is not the same when it is written (-want +got):\n%s", text, diff)
		}
	}
}

// withoutNulls takes fields that are null away, but for those of free values.
func withoutNulls(m map[string]any) map[string]any {
	for _, key := range slices.Collect(maps.Keys(m)) {
		switch value := m[key].(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			m[key] = withoutNulls(value)
		}
	}
	return m
}
