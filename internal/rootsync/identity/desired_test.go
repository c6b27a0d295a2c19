// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// text is a Set in lines.
func (s Set) text() string {
	var b strings.Builder
	for _, a := range s.Accounts {
		fmt.Fprintf(&b, "account %s of %s\n", a.Name, a.Sync)
	}
	for _, x := range s.Bindings {
		in := "everywhere"
		if x.Namespace != "" {
			in = "in " + x.Namespace
		}
		var who []string
		for _, u := range x.Subjects {
			who = append(who, u.Name)
		}
		fmt.Fprintf(&b, "%s %s %s to %s\n", x.Role.Kind, x.Role.Name, in, strings.Join(who, ", "))
	}
	return b.String()
}

func TestDesired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		all  []Wants
		want string
	}{
		{"no RootSync", nil, ""},
		{"without roles all are cluster-admin by one binding", []Wants{{Sync: "b"}, {Sync: "root-sync"}, {Sync: "a"}}, `
			account root-reconciler-a of a
			account root-reconciler-b of b
			account root-reconciler of root-sync
			ClusterRole cluster-admin everywhere to root-reconciler-a, root-reconciler-b, root-reconciler`},
		{"with roles these and no other", []Wants{{Sync: "a", RoleRefs: []RoleRef{
			{Kind: "Role", Name: "r", Namespace: "shop"}, {Kind: "ClusterRole", Name: "edit", Namespace: "shop"}, {Kind: "ClusterRole", Name: "view"}, {Kind: "ClusterRole", Name: "view"},
		}}}, `
			account root-reconciler-a of a
			ClusterRole view everywhere to root-reconciler-a
			ClusterRole edit in shop to root-reconciler-a
			Role r in shop to root-reconciler-a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := strings.TrimPrefix(strings.ReplaceAll(tt.want, "\t", ""), "\n")
			if want != "" {
				want += "\n"
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(Desired(tt.all, true).text(), "\n"), sorted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The order of bindings goes by hashes.
var sorted = cmp.Transformer("sorted", func(in []string) map[string]int {
	out := map[string]int{}
	for _, s := range in {
		out[s]++
	}
	return out
})

// Bindings of former versions have to be found again.
func TestBindingName_staysTheSame(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff("root-reconciler-r-x-0645d7191a", bindingName("r-x", RoleRef{Kind: "ClusterRole", Name: "edit", Namespace: "shop"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBindingName_tellsRolesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]RoleRef{}
	for _, r := range []RoleRef{
		{Kind: "Role", Name: "x", Namespace: "a"}, {Kind: "ClusterRole", Name: "x", Namespace: "a"}, {Kind: "ClusterRole", Name: "x"}, {Kind: "Role", Name: "x", Namespace: "b"},
	} {
		name := bindingName("a", r)
		if other, there := seen[name]; there {
			t.Errorf("%v and %v have one name", r, other)
		}
		seen[name] = r
	}
}

func TestDesired_whereClusterAdminIsForbidden(t *testing.T) {
	t.Parallel()
	if got := Desired([]Wants{{Sync: "a"}}, false); len(got.Bindings) > 0 || len(got.Accounts) != 1 {
		t.Errorf("got %+v", got)
	}
}
