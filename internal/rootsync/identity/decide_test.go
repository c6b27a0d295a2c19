// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// there is what an earlier process has left of RootSyncs.
func there(all ...Wants) found {
	set := Desired(all, true)
	out := found{accounts: sets.New[string]()}
	for _, a := range set.Accounts {
		out.accounts.Insert(a.Name)
	}
	for _, b := range set.Bindings {
		out.bindings = append(out.bindings, live{Binding: b})
	}
	return out
}

// text is a decision in lines.
func (d decision) text() string {
	out := Set{Bindings: d.bindings}.text()
	for _, sync := range d.accounts {
		out += "account of " + string(sync) + "\n"
	}
	for _, b := range d.remove {
		out += "remove " + b.Namespace + "/" + b.Name + "\n"
	}
	for _, b := range d.strange {
		out += "leave " + b.Namespace + "/" + b.Name + "\n"
	}
	return out
}

var (
	editor = Wants{Sync: "r-x", RoleRefs: []RoleRef{{Kind: "ClusterRole", Name: "edit", Namespace: "shop"}}}
	alice  = rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}
)

const (
	derived  = "root-reconciler-r-x-0645d7191a"
	editShop = "ClusterRole edit in shop to root-reconciler-r-x\n"
)

func TestDecide_whatIsThereAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		there found
		want  []Wants
		text  string
	}{
		{"a binding of an older version is not written again", there(editor, Wants{Sync: "a"}), []Wants{editor, {Sync: "a"}}, ""},
		{"what is missing is made", there(), []Wants{editor}, editShop + "account of r-x\n"},
		{"what no RootSync asks for goes", there(editor), []Wants{{Sync: "r-x", RoleRefs: []RoleRef{{Kind: "ClusterRole", Name: "view"}}}},
			"ClusterRole view everywhere to root-reconciler-r-x\nremove shop/" + derived + "\n"},
		{"what a RootSync had goes with it", there(editor, Wants{Sync: "a"}), nil, "remove /" + AdminBinding + "\nremove shop/" + derived + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.text, decide(tt.there, Desired(tt.want, true)).text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// One binding stands beside the account of r-x, which asks for edit in shop.
func TestDecide_whatATenantMayWrite(t *testing.T) {
	t.Parallel()
	account := subject("r-x")
	tests := []struct {
		name   string
		change func(b *Binding)
		text   string
	}{
		{"a binding as it is wanted is as good as Holdfast's", func(*Binding) {}, ""},
		{"one under the name that Config Sync gave it is, too", func(b *Binding) { b.Name = "root-reconciler-r-x-x7k2p" }, ""},
		{"labels of another RootSync are put back", func(b *Binding) { b.Sync = "r-good" }, editShop},
		{"a binding for a tenant is left", func(b *Binding) { b.Name, b.Subjects = "jam", []rbacv1.Subject{alice} }, editShop + "leave shop/jam\n"},
		{"also under the name that follows from its role", func(b *Binding) { b.Subjects = []rbacv1.Subject{alice} }, editShop + "leave shop/" + derived + "\n"},
		{"a binding for a tenant beside the account is left", func(b *Binding) { b.Subjects = []rbacv1.Subject{account, alice} }, editShop + "leave shop/" + derived + "\n"},
		{"a binding for the account under a name of its own is left", func(b *Binding) { b.Name = "more" }, editShop + "leave shop/more\n"},
		{"a binding for an account of that name elsewhere is left", func(b *Binding) { b.Subjects[0].Namespace = "shop" }, editShop + "leave shop/" + derived + "\n"},
		{"a binding for no account of a RootSync is left", func(b *Binding) { b.Subjects[0].Name = "default" }, editShop + "leave shop/" + derived + "\n"},
		{"a binding without subjects is left", func(b *Binding) { b.Subjects = nil }, editShop + "leave shop/" + derived + "\n"},
		{"a role that the RootSync does not ask for goes", func(b *Binding) { b.Role.Name = "view" }, editShop + "remove shop/" + derived + "\n"},
		{"a copy in a namespace below goes", func(b *Binding) { b.Namespace = "shop-child" }, editShop + "remove shop-child/" + derived + "\n"},
		{"one of a RootSync that is not there goes", func(b *Binding) { b.Name, b.Subjects[0].Name = "root-reconciler-gone-1", "root-reconciler-gone" },
			editShop + "remove shop/root-reconciler-gone-1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			have := there(editor)
			b := Desired([]Wants{editor}, true).Bindings[0]
			tt.change(&b)
			have.bindings = []live{{Binding: b}}
			if diff := cmp.Diff(tt.text, decide(have, Desired([]Wants{editor}, true)).text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Two processes, or one before its informer, have written the binding under random names while its own was taken.
func TestDecide_ofBindingsWithRandomNamesOneStays(t *testing.T) {
	t.Parallel()
	wanted := Desired([]Wants{editor}, true).Bindings[0]
	named := func(name string) live {
		b := wanted
		b.Name = name
		return live{Binding: b}
	}
	const a, b = "root-reconciler-r-x-aaaaa", "root-reconciler-r-x-bbbbb"
	relabelled := named(a)
	relabelled.Sync = "r-good"
	tests := []struct {
		name  string
		there []live
		text  string
	}{
		{"the first by name, whatever their order", []live{named(b), named(a)}, "remove shop/" + b + "\n"},
		{"rather the one that has the name that follows from its role", []live{named(a), named(derived)}, "remove shop/" + a + "\n"},
		{"one with labels of another RootSync goes, and another comes", []live{relabelled}, editShop + "remove shop/" + a + "\n"},
		{"one with labels of another RootSync goes beside a good one", []live{relabelled, named(b)}, "remove shop/" + a + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			have := there(editor)
			have.bindings = tt.there
			d := decide(have, Desired([]Wants{editor}, true))
			if diff := cmp.Diff(tt.text, d.text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(d.ours) != len(tt.there) {
				t.Errorf("%d of %d bindings are those of RootSyncs", len(d.ours), len(tt.there))
			}
		})
	}
}

func TestDecide_whatCannotBeReadKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	before := there(Wants{Sync: "a"}, Wants{Sync: "b", RoleRefs: []RoleRef{{Kind: "ClusterRole", Name: "view"}}}, Wants{Sync: "c"})
	unknown := []Wants{{Sync: "a", Unknown: true}, {Sync: "b", Unknown: true}, {Sync: "new", Unknown: true}}
	for _, tt := range []struct {
		name string
		want []Wants
		text string
	}{
		{"beside one that is cluster-admin as before", append(unknown, Wants{Sync: "c"}), "account of new\n"},
		{"beside one that is gone", unknown, "ClusterRole cluster-admin everywhere to root-reconciler-a\naccount of new\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.text, decide(before, Desired(tt.want, true)).text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOf_aRootSyncGetsWhatItNeedsAlone(t *testing.T) {
	t.Parallel()
	foreign := live{Binding: Binding{Namespace: "shop", Name: "jam"}}
	d := decide(found{accounts: sets.New[string](), bindings: []live{foreign}}, Desired([]Wants{editor, {Sync: "a"}, {Sync: "b"}}, true))
	for sync, want := range map[string]string{
		"r-x":  editShop + "account of r-x\n",
		"a":    "ClusterRole cluster-admin everywhere to root-reconciler-a, root-reconciler-b\naccount of a\n",
		"none": "",
	} {
		if diff := cmp.Diff(want, d.of(object.Sync(sync)).text()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", sync, diff)
		}
	}
	if !strings.Contains(d.text(), "leave shop/jam") {
		t.Error(d.text())
	}
}
