// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity gives each RootSync the ServiceAccount that it acts as, and that
// account the roles that the RootSync asks for: as Config Sync does, by the same names,
// but that bindings are named by what they bind and not at random.
package identity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// AdminBinding binds all RootSyncs that name no roles to the ClusterRole cluster-admin.
	AdminBinding = "configsync.gke.io:root-reconciler"
	adminRole    = "cluster-admin"
)

// RoleRef is a role that a RootSync asks for, an entry of spec.override.roleRefs.
type RoleRef struct {
	// Kind is Role or ClusterRole.
	Kind, Name string
	// Namespace in which it holds; empty for a ClusterRole in the whole cluster.
	Namespace string
}

// Wants are the roles that a RootSync asks for.
type Wants struct {
	Sync object.Sync
	// RoleRefs are its roles; with none it is cluster-admin.
	RoleRefs []RoleRef
	// Unknown says that they cannot be read: what is bound stays.
	Unknown bool
}

// Account is the ServiceAccount of a RootSync.
type Account struct {
	Sync object.Sync
	Name string
}

// Binding is a RoleBinding or, without a namespace, a ClusterRoleBinding.
type Binding struct {
	Namespace, Name string
	Role            rbacv1.RoleRef
	Subjects        []rbacv1.Subject
	// Sync is the RootSync that it belongs to; empty if to all.
	Sync object.Sync
}

// Set is what there is to be.
type Set struct {
	Accounts []Account
	Bindings []Binding
	// Unknown are RootSyncs whose bindings stay as they are.
	Unknown sets.Set[object.Sync]
	// NoAdmins says that nobody is cluster-admin, known or not.
	NoAdmins bool
}

// Desired is what all RootSyncs need, in an order that stays the same. Admins says
// whether those that name no roles are cluster-admin, and not without any.
func Desired(all []Wants, admins bool) Set {
	out := Set{Unknown: sets.New[object.Sync](), NoAdmins: !admins}
	admin := Binding{Name: AdminBinding, Role: roleRef("ClusterRole", adminRole)}
	all = slices.SortedFunc(slices.Values(all), func(a, b Wants) int { return cmp.Compare(a.Sync, b.Sync) })
	for _, w := range all {
		out.Accounts = append(out.Accounts, Account{Sync: w.Sync, Name: w.Sync.Reconciler()})
		if w.Unknown {
			out.Unknown.Insert(w.Sync)
			continue
		}
		if len(w.RoleRefs) == 0 && admins {
			admin.Subjects = append(admin.Subjects, subject(w.Sync))
		}
		for _, r := range w.RoleRefs {
			out.Bindings = append(out.Bindings, Binding{
				Namespace: r.Namespace, Name: bindingName(w.Sync, r), Role: roleRef(r.Kind, r.Name),
				Subjects: []rbacv1.Subject{subject(w.Sync)}, Sync: w.Sync,
			})
		}
	}
	if len(admin.Subjects) > 0 {
		out.Bindings = append(out.Bindings, admin)
	}
	slices.SortFunc(out.Bindings, compareBindings)
	out.Bindings = slices.CompactFunc(out.Bindings, func(a, b Binding) bool { return compareBindings(a, b) == 0 })
	return out
}

func compareBindings(a, b Binding) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func subject(sync object.Sync) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: object.SyncNamespace, Name: sync.Reconciler()}
}

// bindingName follows from what is bound: a role cannot be changed in a binding.
func bindingName(sync object.Sync, r RoleRef) string {
	sum := sha256.Sum256([]byte(r.Kind + "/" + r.Namespace + "/" + r.Name))
	return sync.Reconciler() + "-" + hex.EncodeToString(sum[:5])
}

// Labels are those of all bindings of RootSyncs.
func Labels() map[string]string {
	return map[string]string{configsyncv1beta1.LabelSyncKind: configsyncv1beta1.SyncKindRootSync}
}

// labels are those of the account and the bindings of one RootSync.
func labels(sync object.Sync) map[string]string {
	out := Labels()
	out[configsyncv1beta1.LabelSyncNamespace], out[configsyncv1beta1.LabelSyncName] = object.SyncNamespace, string(sync)
	return out
}
