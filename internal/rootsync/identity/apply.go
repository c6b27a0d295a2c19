// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// fieldManager owns what is written here.
const fieldManager = "holdfast-sync"

// Apply brings the cluster in line with a Set and returns what could not be done: the
// others are done all the same. What belongs to RootSyncs and is not in the Set goes,
// other bindings to the same accounts stay. Nothing is written that is as it should be.
func Apply(ctx context.Context, c client.Client, want Set) error {
	found, err := find(ctx, c)
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range want.Accounts {
		if found.accounts.Has(a.Name) {
			continue
		}
		errs = append(errs, write(ctx, c, account(a.Sync)))
	}
	for _, b := range found.keep(want) {
		if have, there := found.bindings[b.key()]; there && have.same(b) {
			continue
		}
		errs = append(errs, write(ctx, c, b.object()))
	}
	wanted := sets.New[types.NamespacedName]()
	for _, b := range found.keep(want) {
		wanted.Insert(b.key())
	}
	for _, key := range slices.SortedFunc(maps.Keys(found.bindings), func(a, b types.NamespacedName) int { return compareBindings(found.bindings[a], found.bindings[b]) }) {
		if !wanted.Has(key) {
			errs = append(errs, remove(ctx, c, found.bindings[key].object()))
		}
	}
	return errors.Join(errs...)
}

// found is what there is of RootSyncs.
type found struct {
	accounts sets.Set[string]
	bindings map[types.NamespacedName]Binding
}

// keep is what is wanted, with what stays because it is not known.
func (f found) keep(want Set) []Binding {
	out := slices.Clone(want.Bindings)
	i := slices.IndexFunc(out, func(b Binding) bool { return b.Name == AdminBinding && b.Namespace == "" })
	for key, have := range f.bindings {
		switch {
		case have.Sync != "" && want.Unknown.Has(have.Sync):
			out = append(out, have)
		case key == (types.NamespacedName{Name: AdminBinding}) && !want.NoAdmins:
			stays := slices.DeleteFunc(slices.Clone(have.Subjects), func(s rbacv1.Subject) bool { return !want.isUnknown(s) })
			if i < 0 && len(stays) > 0 {
				i = len(out)
				out = append(out, Binding{Name: AdminBinding, Role: have.Role})
			}
			if len(stays) > 0 {
				out[i].Subjects = slices.Concat(out[i].Subjects, stays)
				slices.SortFunc(out[i].Subjects, func(a, b rbacv1.Subject) int { return cmp.Compare(a.Name, b.Name) })
			}
		}
	}
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

func account(sync object.Sync) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: sync.Reconciler(), Labels: labels(sync)},
	}
}

func write(ctx context.Context, c client.Client, o client.Object) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if err := c.Patch(ctx, o, client.Apply, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil { //nolint:staticcheck // whole typed objects, not apply configurations
		return fmt.Errorf("apply %s %s: %w", kind, o.GetName(), err)
	}
	return nil
}

func remove(ctx context.Context, c client.Client, o client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, o)); err != nil {
		return fmt.Errorf("delete %s: %w", o.GetName(), err)
	}
	return nil
}

// find reads what there is of RootSyncs.
func find(ctx context.Context, c client.Reader) (found, error) {
	out := found{accounts: sets.New[string](), bindings: map[types.NamespacedName]Binding{}}
	ours := client.MatchingLabels{labelKind: kindRootSync}
	var accounts corev1.ServiceAccountList
	if err := c.List(ctx, &accounts, client.InNamespace(object.SyncNamespace)); err != nil {
		return out, fmt.Errorf("list ServiceAccounts of %s: %w", object.SyncNamespace, err)
	}
	for i := range accounts.Items {
		out.accounts.Insert(accounts.Items[i].Name)
	}
	var local rbacv1.RoleBindingList
	if err := c.List(ctx, &local, ours); err != nil {
		return out, fmt.Errorf("list RoleBindings of RootSyncs: %w", err)
	}
	for _, b := range local.Items {
		out.add(Binding{Namespace: b.Namespace, Name: b.Name, Role: b.RoleRef, Subjects: b.Subjects, Sync: object.Sync(b.Labels[labelName])})
	}
	var all rbacv1.ClusterRoleBindingList
	if err := c.List(ctx, &all, ours); err != nil {
		return out, fmt.Errorf("list ClusterRoleBindings of RootSyncs: %w", err)
	}
	for _, b := range all.Items {
		out.add(Binding{Name: b.Name, Role: b.RoleRef, Subjects: b.Subjects, Sync: object.Sync(b.Labels[labelName])})
	}
	return out, nil
}

func (f found) add(b Binding) { f.bindings[b.key()] = b }

func (b Binding) key() types.NamespacedName {
	return types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
}

func (b Binding) same(o Binding) bool {
	return b.Role == o.Role && slices.Equal(b.Subjects, o.Subjects) && b.Sync == o.Sync
}

func (b Binding) object() client.Object {
	meta := metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, Labels: labels(b.Sync)}
	if b.Sync == "" {
		meta.Labels = map[string]string{labelKind: kindRootSync}
	}
	api := rbacv1.SchemeGroupVersion.String()
	if b.Namespace != "" {
		return &rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "RoleBinding"}, ObjectMeta: meta, RoleRef: b.Role, Subjects: b.Subjects}
	}
	return &rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "ClusterRoleBinding"}, ObjectMeta: meta, RoleRef: b.Role, Subjects: b.Subjects}
}
