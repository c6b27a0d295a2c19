// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// fieldManager owns what is written here.
const fieldManager = "holdfast-sync"

// written is a binding that was written. Its name is a random one if another binding has its own.
type written struct {
	Binding
	name string
}

// apply writes the accounts and bindings of a decision. It returns the bindings, and those whose namespace does not exist
// or is being deleted. One that fails does not keep it from the others; it joins the errors.
func apply(ctx context.Context, c client.Client, d decision) (bound []written, homeless []Binding, err error) {
	var errs []error
	for _, sync := range d.accounts {
		errs = append(errs, write(ctx, c, account(sync)))
	}
	for _, b := range d.bindings {
		name, err := bind(ctx, c, b)
		switch {
		case noNamespace(err):
			homeless = append(homeless, b)
		case err != nil:
			errs = append(errs, err)
		default:
			bound = append(bound, written{b, name})
		}
	}
	return bound, homeless, errors.Join(errs...)
}

// bind writes a binding and returns its name. If another RoleBinding has its name, with another role or other
// subjects, or as a copy from an ancestor, bind creates the binding with a random name, which nobody can take in advance.
func bind(ctx context.Context, c client.Client, b Binding) (name string, err error) {
	err = write(ctx, c, b.object())
	if b.Namespace == "" || noNamespace(err) || !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return b.Name, err
	}
	o := b.object()
	o.SetName("")
	o.SetGenerateName(b.Sync.Reconciler() + "-")
	if c.Create(ctx, o, client.FieldOwner(fieldManager)) != nil {
		return b.Name, err
	}
	ctrl.LoggerFrom(ctx).Info("A RoleBinding cannot have the name that follows from its role", "namespace", b.Namespace, "taken", b.Name, "name", o.GetName(), "reason", err.Error())
	return o.GetName(), nil
}

// noNamespace reports that an object cannot be created because its namespace does not exist or is being deleted.
func noNamespace(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces"
}

func write(ctx context.Context, c client.Client, o client.Object) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if err := c.Patch(ctx, o, client.Apply, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil { //nolint:staticcheck // whole typed objects, not apply configurations
		return fmt.Errorf("apply %s %s: %w", kind, client.ObjectKeyFromObject(o), err)
	}
	return nil
}

// remove deletes an object if it has not changed since it was read. After a change the informer requeues it.
func remove(ctx context.Context, c client.Client, o client.Object) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	err := c.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", client.ObjectKeyFromObject(o), err)
}

// find reads what there is of RootSyncs.
func find(ctx context.Context, c client.Reader) (found, error) {
	out := found{accounts: sets.New[string]()}
	ours := client.MatchingLabels(Labels())
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
	for i := range local.Items {
		b := &local.Items[i]
		out.add(b, b.RoleRef, b.Subjects)
	}
	var all rbacv1.ClusterRoleBindingList
	if err := c.List(ctx, &all, ours); err != nil {
		return out, fmt.Errorf("list ClusterRoleBindings of RootSyncs: %w", err)
	}
	for i := range all.Items {
		b := &all.Items[i]
		out.add(b, b.RoleRef, b.Subjects)
	}
	return out, nil
}

func (f *found) add(o client.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	sync := object.Sync(o.GetLabels()[configsyncv1beta1.LabelSyncName])
	f.bindings = append(f.bindings, live{Binding{Namespace: o.GetNamespace(), Name: o.GetName(), Role: role, Subjects: subjects, Sync: sync}, o})
}

func account(sync object.Sync) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: sync.Reconciler(), Labels: labels(sync)},
	}
}

func (b Binding) object() client.Object {
	meta := metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, Labels: labels(b.Sync)}
	if b.Sync == "" {
		meta.Labels = Labels()
	}
	api := rbacv1.SchemeGroupVersion.String()
	if b.Namespace != "" {
		return &rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "RoleBinding"}, ObjectMeta: meta, RoleRef: b.Role, Subjects: b.Subjects}
	}
	return &rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: api, Kind: "ClusterRoleBinding"}, ObjectMeta: meta, RoleRef: b.Role, Subjects: b.Subjects}
}
