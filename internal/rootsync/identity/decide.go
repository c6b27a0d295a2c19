// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// found has the service accounts in the namespace of RootSyncs by name, and the bindings with the label of RootSyncs.
type found struct {
	accounts sets.Set[string]
	bindings []live
}

// live is a binding in the cluster, with its Sync from its labels.
type live struct {
	Binding
	object client.Object
}

// decision has the writes that establish a Set.
type decision struct {
	accounts []object.Sync
	bindings []Binding
	// remove are bindings that no RootSync wants. Holdfast did not create those in strange.
	remove, strange []live
	// ours are all bindings of RootSyncs.
	ours []live
}

// decide compares the cluster with a Set, and writes nothing that is up to date.
func decide(there found, want Set) decision {
	var out decision
	for _, a := range want.Accounts {
		if !there.accounts.Has(a.Name) {
			out.accounts = append(out.accounts, a.Sync)
		}
	}
	wanted := map[grant]Binding{}
	for _, b := range there.wanted(want) {
		wanted[b.grant()] = b
	}
	kept := out.compare(there.sorted(wanted), wanted, want)
	for is, b := range wanted {
		if !kept.Has(is) {
			out.bindings = append(out.bindings, b)
		}
	}
	slices.SortFunc(out.bindings, compareBindings)
	return out
}

// compare decides about the bindings that are there, and returns those that are up to date.
func (d *decision) compare(there []live, wanted map[grant]Binding, want Set) (kept sets.Set[grant]) {
	kept = sets.New[grant]()
	for _, have := range there {
		sync, ours := have.owner()
		if !ours {
			d.strange = append(d.strange, have)
			continue
		}
		d.ours = append(d.ours, have)
		is := grant{have.Namespace, have.Role, sync}
		b, asked := wanted[is]
		switch {
		case !asked && want.Unknown.Has(sync): // what it asks for cannot be read
		case asked && have.same(b) && !kept.Has(is):
			kept.Insert(is)
		case !asked || have.random(b):
			d.remove = append(d.remove, have)
		}
	}
	return kept
}

// random reports whether a binding has another name than follows from its role, which it got while that was taken.
func (l live) random(b Binding) bool { return l.Namespace != "" && l.Name != b.Name }

// sorted returns the bindings, those first that have the name that follows from their role.
func (f found) sorted(wanted map[grant]Binding) []live {
	return slices.SortedStableFunc(slices.Values(f.bindings), func(a, b live) int {
		first := func(l live) int {
			if sync, _ := l.owner(); wanted[grant{l.Namespace, l.Role, sync}].Name == l.Name {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.Name, b.Name))
	})
}

// grant identifies a binding by its effect: the name of a binding can vary.
type grant struct {
	namespace string
	role      rbacv1.RoleRef
	sync      object.Sync
}

func (b Binding) grant() grant { return grant{b.Namespace, b.Role, b.Sync} }

// of returns the writes without which one RootSync cannot sync.
func (d decision) of(sync object.Sync) decision {
	var out decision
	if slices.Contains(d.accounts, sync) {
		out.accounts = []object.Sync{sync}
	}
	for _, b := range d.bindings {
		if slices.Contains(b.Subjects, subject(sync)) {
			out.bindings = append(out.bindings, b)
		}
	}
	return out
}

// owner returns the RootSync that a binding is for, empty for the binding of all. It ignores labels, which tenants write. A
// binding is Holdfast's, or Config Sync's, if its only subject is the account of a RootSync and its name begins with that
// of the account. A tenant can write such a binding too; when it is deleted, only the RootSync loses rights.
func (b Binding) owner() (sync object.Sync, ours bool) {
	if b.Namespace == "" && b.Name == AdminBinding {
		return "", b.Role == roleRef("ClusterRole", adminRole)
	}
	if len(b.Subjects) != 1 {
		return "", false
	}
	account := b.Subjects[0].Name
	if sync = configsyncv1beta1.DefaultRootSync; account != sync.Reconciler() {
		sync = object.Sync(strings.TrimPrefix(account, sync.Reconciler()+"-"))
	}
	return sync, b.Subjects[0] == subject(sync) && strings.HasPrefix(b.Name, account+"-")
}

// same reports whether two bindings are equal, so that no write is needed.
func (b Binding) same(o Binding) bool {
	return b.Role == o.Role && slices.Equal(b.Subjects, o.Subjects) && b.Sync == o.Sync
}

// wanted returns the bindings of a Set; RootSyncs that cannot be read stay cluster-admin.
func (f found) wanted(want Set) []Binding {
	isAdmin := func(b Binding) bool { return b.Namespace == "" && b.Name == AdminBinding }
	at := slices.IndexFunc(f.bindings, func(b live) bool { return isAdmin(b.Binding) })
	if at < 0 || want.NoAdmins {
		return want.Bindings
	}
	stays := slices.DeleteFunc(slices.Clone(f.bindings[at].Subjects), func(s rbacv1.Subject) bool { return !want.isUnknown(s) })
	if len(stays) == 0 {
		return want.Bindings
	}
	out := slices.Clone(want.Bindings)
	i := slices.IndexFunc(out, isAdmin)
	if i < 0 {
		i = len(out)
		out = append(out, Binding{Name: AdminBinding, Role: roleRef("ClusterRole", adminRole)})
	}
	out[i].Subjects = slices.Concat(out[i].Subjects, stays)
	slices.SortFunc(out[i].Subjects, func(a, b rbacv1.Subject) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (s Set) isUnknown(subject rbacv1.Subject) bool {
	for sync := range s.Unknown {
		if subject.Namespace == object.SyncNamespace && subject.Name == sync.Reconciler() {
			return true
		}
	}
	return false
}
