// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/config/crd"
)

// definition has the version in an annotation where it is not empty.
func definition(t testing.TB, writtenBy, fields string) *unstructured.Unstructured {
	t.Helper()
	text := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pets.example.com}, " + fields + "}"
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	if writtenBy != "" {
		out.SetAnnotations(map[string]string{VersionAnnotation: writtenBy})
	}
	return out
}

// wantedSpec is what version 1.1.0 wants.
const wantedSpec = `spec: {group: example.com, versions: [{name: v1, served: true, storage: true, schema: {age: {type: integer, description: "in years"}, kind: {enum: [cat, dog]}}}]}`

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// live is that of the API server, written by a version.
		live, by string
		// want are the versions that are applied, "stays", or "newer: " and why.
		want string
		// drops says that a conversion goes first.
		drops bool
	}{
		{name: "one that is missing is made", want: "v1"},
		{name: "one that is as it should be stays", live: wantedSpec, by: "1.1.0", want: "stays"},
		{name: "one that somebody applied by hand stays, if it will do", live: wantedSpec, want: "stays"},
		{
			name: "of descriptions nothing depends", want: "stays",
			live: `spec: {group: example.com, versions: [{name: v1, served: true, storage: true, schema: {age: {type: integer}, kind: {enum: [cat, dog]}}}]}`,
		},
		{
			name: "more than is wanted, as from a later release by hand, stays", want: "stays", by: "1.1.0",
			live: `spec: {group: example.com, names: {kind: Pet}, versions: [{name: v1, served: true, storage: true, schema: {colour: {type: string}, age: {type: integer}, kind: {enum: [bird, cat, dog]}}}]}`,
		},
		{name: "an earlier release is upgraded, whatever it has", live: wantedSpec, by: "1.0.9", want: "v1"},
		{name: "a version that cannot be read counts for nothing", live: wantedSpec, by: "mine", want: "stays"},
		{
			name: "what another project left is taken over", want: "v1",
			live: `spec: {group: example.com, versions: [{name: v1, served: true, storage: true, schema: {age: {type: string}}}]}`,
		},
		{
			name: "what somebody changed is put right", want: "v1", by: "1.1.0",
			live: `spec: {group: example.com, versions: [{name: v1, served: true, storage: true, schema: {age: {type: integer}, kind: {enum: [cat]}}}]}`,
		},
		{
			name: "a later release goes before what is wanted", by: "1.2.0-rc.1", want: "newer: it was written by Holdfast 1.2.0-rc.1",
			live: `spec: {group: example.com, versions: [{name: v1, served: true, storage: true, schema: {}}]}`,
		},
		{
			name: "objects that are stored as a later version stay readable",
			want: "newer: its objects are stored as v2, which this version does not know",
			live: `spec: {group: example.com, versions: [{name: v1, served: true, storage: false, schema: {}}, {name: v2, served: true, storage: true, schema: {}}]}`,
		},
		{
			name: "objects that are stored as an earlier version stay readable, and are not served as it", want: "v1 v1alpha1(not served)",
			live: `spec: {group: example.com, versions: [{name: v1alpha1, served: true, storage: true, schema: {}}]}, status: {storedVersions: [v1alpha1]}`,
		},
		{
			name: "a version that nothing is stored as goes", want: "v1",
			live: `spec: {group: example.com, versions: [{name: v1alpha1, served: true, storage: false, schema: {}}, {name: v1, served: true, storage: true, schema: {}}]}, status: {storedVersions: [v1]}`,
		},
		{
			name: "a webhook that converts goes with its project", want: "v1", drops: true,
			live: `spec: {group: example.com, conversion: {strategy: Webhook, webhook: {}}, versions: [{name: v1, served: true, storage: true, schema: {age: {type: integer}, kind: {enum: [cat, dog]}}}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var live *unstructured.Unstructured
			if tt.live != "" {
				live = definition(t, tt.by, tt.live)
			}
			d := Decide(live, definition(t, "", wantedSpec), "1.1.0")
			if got := tell(d); got != tt.want || d.DropConversion != tt.drops {
				t.Errorf("got %q, and a conversion dropped: %t; want %q, %t", got, d.DropConversion, tt.want, tt.drops)
			}
		})
	}
}

// tell says what is decided.
func tell(d Decision) string {
	if d.Newer != "" {
		return "newer: " + d.Newer
	}
	if d.Apply == nil {
		return "stays"
	}
	out := ""
	for i, v := range versions(d.Apply) {
		if i > 0 {
			out += " "
		}
		name, _ := v["name"].(string)
		out += name
		if served, _ := v["served"].(bool); !served {
			out += "(not served)"
		}
	}
	return out
}

func TestDecide_appliesTheSchemaAndNoMore(t *testing.T) {
	t.Parallel()
	live := definition(t, "1.0.0", `spec: {group: example.com, preserveUnknownFields: true, versions: []}, status: {storedVersions: []}`)
	live.SetLabels(map[string]string{"app": "hnc"})
	got := Decide(live, definition(t, "", wantedSpec), "1.1.0").Apply
	want := definition(t, "1.1.0", wantedSpec)
	want.Object["spec"].(map[string]any)["preserveUnknownFields"] = false
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDefinitions_areAllOfHoldfast(t *testing.T) {
	t.Parallel()
	for groups, want := range map[string][]string{
		"holdfast.dev": {
			"deletionoverrides.holdfast.dev", "evictionpolicies.holdfast.dev", "holdfasts.holdfast.dev",
			"resourcedeletionprotections.holdfast.dev", "serviceaccounttemplates.holdfast.dev",
		},
		"hnc.x-k8s.io":      {"hierarchyconfigurations.hnc.x-k8s.io", "hncconfigurations.hnc.x-k8s.io", "subnamespaceanchors.hnc.x-k8s.io"},
		"configsync.gke.io": {"rootsyncs.configsync.gke.io"},
		"kpt.dev":           {"resourcegroups.kpt.dev"},
		"example.com":       nil,
	} {
		all, err := crd.Of(groups)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range all {
			got = append(got, o.GetName())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", groups, diff)
		}
	}
}
