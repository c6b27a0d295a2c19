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
		{"nothing", setOptions{}, spec{Parent: "p"}, spec{Parent: "p"}, "No changes made\n"},
		{"a parent", setOptions{parent: "p"}, spec{}, spec{Parent: "p"}, `Setting the parent of ns to p
Succesfully updated 1 property of the hierarchical configuration of ns
`},
		{"another parent", setOptions{parent: "q"}, spec{Parent: "p"}, spec{Parent: "q"}, `Changing the parent of ns from p to q
Succesfully updated 1 property of the hierarchical configuration of ns
`},
		{"the same parent", setOptions{parent: "p"}, spec{Parent: "p"}, spec{Parent: "p"}, `Parent of ns is already p; unchanged
No changes made
`},
		{"no parent", setOptions{root: true}, spec{Parent: "p"}, spec{}, `Unsetting the parent of ns (was previously p)
Succesfully updated 1 property of the hierarchical configuration of ns
`},
		{"no parent where there is none", setOptions{root: true}, spec{}, spec{}, "ns is already a root namespace; unchanged \nNo changes made\n"},
		{"allow", setOptions{allow: true}, spec{Parent: "p"}, spec{Parent: "p", AllowCascadingDeletion: true}, `Allowing cascading deletion on 'ns'
Succesfully updated 1 property of the hierarchical configuration of ns
`},
		{"allow again", setOptions{allow: true}, spec{AllowCascadingDeletion: true}, spec{AllowCascadingDeletion: true},
			"Cascading deletion for 'ns' is already set to true; unchanged\nNo changes made\n"},
		{"forbid again", setOptions{forbid: true}, spec{}, spec{}, "Cascading deletion for 'ns' is already set to false; unchanged\nNo changes made\n"},
		{"a parent, and forbid", setOptions{parent: "p", forbid: true}, spec{AllowCascadingDeletion: true}, spec{Parent: "p"}, `Setting the parent of ns to p
Forbidding cascading deletion on 'ns'
Succesfully updated 2 properties of the hierarchical configuration of ns
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.options.namespace = "ns"
			got, said, changes := tt.options.plan(tt.before)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spec (-want +got)\n%s", diff)
			}
			said = append(said, outcome("ns", changes))
			if diff := cmp.Diff(tt.said, strings.Join(said, "\n")+"\n"); diff != "" {
				t.Errorf("said (-want +got)\n%s", diff)
			}
		})
	}
}
