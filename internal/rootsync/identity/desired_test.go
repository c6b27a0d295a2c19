// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
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

func TestKeep_whoCannotBeReadKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	before := Desired([]Wants{{Sync: "a"}, {Sync: "b", RoleRefs: []RoleRef{{Kind: "ClusterRole", Name: "view"}}}, {Sync: "c"}}, true)
	f := found{bindings: map[types.NamespacedName]Binding{}}
	for _, b := range before.Bindings {
		f.add(b)
	}
	unknown := []Wants{{Sync: "a", Unknown: true}, {Sync: "b", Unknown: true}, {Sync: "c"}, {Sync: "new", Unknown: true}}
	for _, all := range [][]Wants{unknown, {unknown[0], unknown[1]}} {
		got := Set{Bindings: f.keep(Desired(all, true))}
		want := "ClusterRole cluster-admin everywhere to root-reconciler-a"
		if len(all) > 2 {
			want += ", root-reconciler-c"
		}
		if diff := cmp.Diff([]string{want, "ClusterRole view everywhere to root-reconciler-b", ""}, strings.Split(got.text(), "\n"), sorted); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDesired_whereClusterAdminIsForbidden(t *testing.T) {
	t.Parallel()
	if got := Desired([]Wants{{Sync: "a"}}, false); len(got.Bindings) > 0 || len(got.Accounts) != 1 {
		t.Errorf("got %+v", got)
	}
}
