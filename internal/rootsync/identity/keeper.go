// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Keeper keeps accounts and bindings as RootSyncs ask for them, and puts back what
// somebody changes.
type Keeper struct {
	client client.Client
	// admin says whether RootSyncs that name no roles are cluster-admin, and not refused.
	admin func() bool
	// warn makes an event about an object.
	warn func(about runtime.Object, reason, action, note string)

	// mu is held while accounts and bindings are written.
	mu sync.Mutex
	// told has the notes of the Events about bindings that Holdfast does not delete, by UID.
	told map[types.UID]string
}

// NewKeeper makes a Keeper. The client reads from a cache.
func NewKeeper(c client.Client, admin func() bool, warn func(about runtime.Object, reason, action, note string)) *Keeper {
	return &Keeper{client: c, admin: admin, warn: warn}
}

// SetupWithManager looks again when a RootSync changes, or what was written for one.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}} // all at once
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("rootsync-identity").
		Watches(&configsyncv1beta1.RootSync{}, one).
		Watches(&corev1.ServiceAccount{}, one).
		Watches(&rbacv1.ClusterRoleBinding{}, one).
		Watches(&rbacv1.RoleBinding{}, one).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, k.ensureAll(ctx)
		}))
}

// Ensure writes the account and the bindings of one RootSync. It neither fails because of those of other RootSyncs nor
// deletes bindings.
func (k *Keeper) Ensure(ctx context.Context, who object.Sync) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, err := k.decide(ctx)
	if err != nil {
		return err
	}
	return apply(ctx, k.client, d.of(who))
}

// ensureAll writes the accounts and bindings of all RootSyncs and deletes what none wants. No RootSync waits for it.
func (k *Keeper) ensureAll(ctx context.Context) error {
	d, err := k.applyAll(ctx)
	errs := []error{err}
	told := map[types.UID]string{}
	for _, b := range d.strange {
		const note = "it has the label " + configsyncv1beta1.LabelSyncKind + " and was not made for a RootSync: Holdfast does not change it; remove the label"
		if k.tell(told, b, "NotOfRootSync", "Keep", note) {
			ctrl.LoggerFrom(ctx).Info("A binding with the label of those of RootSyncs was not made for one, and is left", "namespace", b.Namespace, "name", b.Name)
		}
	}
	for _, b := range d.remove {
		if err := remove(ctx, k.client, b.object); err != nil {
			errs = append(errs, err)
			k.tell(told, b, "CannotDelete", "Delete", "no RootSync asks for it any more, and it cannot be deleted, which is tried again: "+err.Error())
		}
	}
	k.told = told
	return errors.Join(errs...)
}

func (k *Keeper) applyAll(ctx context.Context) (decision, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, err := k.decide(ctx)
	if err != nil {
		return d, err
	}
	return d, apply(ctx, k.client, d)
}

// tell makes an Event about a binding, and reports false if it made the same one before.
func (k *Keeper) tell(told map[types.UID]string, b live, reason, action, note string) bool {
	uid := b.object.GetUID()
	told[uid] = note
	if k.told[uid] == note {
		return false
	}
	k.warn(b.object, reason, action, note)
	return true
}

func (k *Keeper) decide(ctx context.Context) (decision, error) {
	there, err := find(ctx, k.client)
	if err != nil {
		return decision{}, err
	}
	var all configsyncv1beta1.RootSyncList
	if err := k.client.List(ctx, &all, client.InNamespace(object.SyncNamespace)); err != nil {
		return decision{}, fmt.Errorf("list RootSyncs: %w", err)
	}
	wants := make([]Wants, 0, len(all.Items))
	for i := range all.Items {
		wants = append(wants, wantsOf(&all.Items[i]))
	}
	return decide(there, Desired(wants, k.admin())), nil
}

// wantsOf reads what a RootSync asks for. One that is wrong gets nothing new, and keeps
// what it has: above all it does not become cluster-admin because its roles cannot be read.
func wantsOf(rs *configsyncv1beta1.RootSync) Wants {
	settings, invalid := spec.Read(rs)
	w := Wants{Sync: settings.Sync, Unknown: invalid != nil}
	for _, r := range settings.Roles {
		w.RoleRefs = append(w.RoleRefs, RoleRef{Kind: r.Kind, Name: r.Name, Namespace: r.Namespace})
	}
	return w
}

// Forget takes away the account of a RootSync, once there is none of its name.
func (k *Keeper) Forget(ctx context.Context, who object.Sync) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.client.Get(ctx, client.ObjectKey{Namespace: object.SyncNamespace, Name: string(who)}, &configsyncv1beta1.RootSync{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := client.IgnoreNotFound(k.client.Delete(ctx, account(who))); err != nil {
		return fmt.Errorf("delete ServiceAccount %s: %w", who.Reconciler(), err)
	}
	return nil
}
