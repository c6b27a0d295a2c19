// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What has a selector is not applied, and stops nothing else.
func TestParse_selectors(t *testing.T) {
	t.Parallel()
	const (
		other     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: x}\n"
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, annotations: {configmanagement.gke.io/cluster-selector: prod}}\n"
	)
	tests := []struct {
		name, text    string
		errors, other []string
		refused       []string
		says          string
	}{
		{"a cluster selector", annotated("configmanagement.gke.io/cluster-selector: prod"), []string{"1004 a.yaml"}, []string{"ConfigMap, x/other b.yaml"}, []string{"ConfigMap, default/a"}, "as it was applied last"},
		{"a selector of cluster names", annotated("configsync.gke.io/cluster-name-selector: prod"), []string{"1004 a.yaml"}, []string{"ConfigMap, x/other b.yaml"}, []string{"ConfigMap, default/a"}, "overlay"},
		{"a namespace selector", annotated("configmanagement.gke.io/namespace-selector: all"), []string{"1004 a.yaml"}, []string{"ConfigMap, x/other b.yaml"}, []string{"ConfigMap, default/a"}, "not applied"},
		{"a Namespace with one", namespace, []string{"1004 b.yaml", "1004 a.yaml"}, nil, []string{"ConfigMap, x/other", "Namespace, /x"}, "not applied"},
		{
			"a ClusterSelector, of a kind that nobody serves", "apiVersion: configmanagement.gke.io/v1\nkind: ClusterSelector\nmetadata: {name: a}\n",
			[]string{"1043 a.yaml"}, []string{"ConfigMap, x/other b.yaml"}, nil, "not built",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(files("-- a.yaml --\n"+tt.text+"-- b.yaml --\n"+other), cluster)
			if got.Blocked {
				t.Error("it blocks")
			}
			if diff := cmp.Diff(tt.errors, codes(got.Errors)); diff != "" {
				t.Fatal(diff, got.Errors)
			}
			if diff := cmp.Diff(tt.other, ids(got)); diff != "" {
				t.Error(diff)
			}
			var refused []string
			for _, d := range got.Refused {
				refused = append(refused, d.ID().String())
			}
			if diff := cmp.Diff(tt.refused, refused); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(got.Errors[0].Text, tt.says) {
				t.Errorf("it says %q and not %q", got.Errors[0].Text, tt.says)
			}
		})
	}
}
