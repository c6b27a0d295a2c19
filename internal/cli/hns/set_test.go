// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func TestSet_plan(t *testing.T) {
	t.Parallel()
	type spec = hncv1alpha2.HierarchyConfigurationSpec
	tests := []struct {
		name         string
		options      setOptions
		before, want spec
		said         string
	}{
		{"nothing", setOptions{}, spec{Parent: "p"}, spec{Parent: "p"}, ""},
		{"a parent", setOptions{parent: "p"}, spec{}, spec{Parent: "p"}, "Setting the parent of ns to p"},
		{"another parent", setOptions{parent: "q"}, spec{Parent: "p"}, spec{Parent: "q"}, "Changing the parent of ns from p to q"},
		{"the same parent", setOptions{parent: "p"}, spec{Parent: "p"}, spec{Parent: "p"}, "Parent of ns is already p; unchanged"},
		{"no parent", setOptions{root: true}, spec{Parent: "p"}, spec{}, "Unsetting the parent of ns (was previously p)"},
		{"no parent where there is none", setOptions{root: true}, spec{}, spec{}, "ns is already a root namespace; unchanged "},
		{"allow", setOptions{allow: true}, spec{Parent: "p"}, spec{Parent: "p", AllowCascadingDeletion: true}, "Allowing cascading deletion on 'ns'"},
		{"allow again", setOptions{allow: true}, spec{AllowCascadingDeletion: true}, spec{AllowCascadingDeletion: true},
			"Cascading deletion for 'ns' is already set to true; unchanged"},
		{"forbid again", setOptions{forbid: true}, spec{}, spec{}, "Cascading deletion for 'ns' is already set to false; unchanged"},
		{"a parent, and forbid", setOptions{parent: "p", forbid: true}, spec{AllowCascadingDeletion: true}, spec{Parent: "p"},
			"Setting the parent of ns to p\nForbidding cascading deletion on 'ns'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.options.namespace = "ns"
			got, said, changes := tt.options.plan(tt.before)
			if want := differences(tt.before, tt.want); changes != want {
				t.Errorf("got %d changes, want %d", changes, want)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spec (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.said, strings.Join(said, "\n")); diff != "" {
				t.Errorf("said (-want +got)\n%s", diff)
			}
		})
	}
}

func differences(a, b hncv1alpha2.HierarchyConfigurationSpec) (n int) {
	if a.Parent != b.Parent {
		n++
	}
	if a.AllowCascadingDeletion != b.AllowCascadingDeletion {
		n++
	}
	return n
}
