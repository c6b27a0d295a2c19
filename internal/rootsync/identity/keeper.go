// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	mu sync.Mutex
}

// NewKeeper makes a Keeper. The client reads from a cache.
func NewKeeper(c client.Client, admin func() bool) *Keeper { return &Keeper{client: c, admin: admin} }

// Labels are those of all bindings that are kept.
func Labels() map[string]string { return map[string]string{labelKind: kindRootSync} }

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
			return reconcile.Result{}, k.Ensure(ctx)
		}))
}

// Ensure brings everything in line with the RootSyncs that there are now.
func (k *Keeper) Ensure(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all configsyncv1beta1.RootSyncList
	if err := k.client.List(ctx, &all, client.InNamespace(object.SyncNamespace)); err != nil {
		return fmt.Errorf("list RootSyncs: %w", err)
	}
	wants := make([]Wants, 0, len(all.Items))
	for i := range all.Items {
		wants = append(wants, wantsOf(&all.Items[i]))
	}
	return Apply(ctx, k.client, Desired(wants, k.admin()))
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
	return remove(ctx, k.client, account(who))
}
