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
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Options of a Keeper.
type Options struct {
	// Admins tells whether RootSyncs that name no roles are cluster-admin, and not refused.
	Admins func() bool
	// Home returns why nothing is to be given to accounts in the namespace of RootSyncs; nil if it may be. It asks the API
	// server.
	Home func(context.Context) error
	// Away reports, by the cache, that the namespace of RootSyncs is where no account in it may have rights.
	Away func(context.Context) bool
	// Warn makes an event about an object.
	Warn func(about runtime.Object, reason, action, note string)
	// Bound is called after what is bound to the account of a RootSync has changed.
	Bound func(object.Sync)
}

// Keeper keeps accounts and bindings as RootSyncs ask for them, and puts back what
// somebody changes.
type Keeper struct {
	client client.Client
	o      Options

	// mu is held while accounts and bindings are written.
	mu sync.Mutex
	// told has the notes of the Events about bindings that Holdfast does not delete, by UID.
	told map[types.UID]string
	// taken are the bindings with an Event that another one has their name, and homeless those with an Event that their
	// namespace does not exist.
	taken, homeless sets.Set[grant]
}

// NewKeeper makes a Keeper. The client reads from a cache.
func NewKeeper(c client.Client, o Options) *Keeper {
	return &Keeper{client: c, o: o, taken: sets.New[grant](), homeless: sets.New[grant]()}
}

// SetupWithManager looks again when a RootSync changes, or what was written for one.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}} // all at once
	})
	// A binding may wait for a namespace, and all do while that of RootSyncs is in a tree.
	appears := predicate.Funcs{
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectNew.GetName() == object.SyncNamespace },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("rootsync-identity").
		WatchesMetadata(&corev1.Namespace{}, one, builder.WithPredicates(appears)).
		Watches(&configsyncv1beta1.RootSync{}, one).
		Watches(&corev1.ServiceAccount{}, one).
		Watches(&rbacv1.ClusterRoleBinding{}, one).
		Watches(&rbacv1.RoleBinding{}, one).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, k.ensureAll(ctx)
		}))
}

// Ensure writes the account and the bindings of one RootSync. It fails neither because of those of other RootSyncs nor
// because of a namespace that does not exist, and deletes no bindings.
func (k *Keeper) Ensure(ctx context.Context, who object.Sync) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, err := k.decide(ctx)
	if err != nil {
		return err
	}
	return k.apply(ctx, d.of(who))
}

// apply writes what is missing. What is given to an account is given to whoever gets a token of it, so that nothing is
// written before it is known whose the namespace is.
func (k *Keeper) apply(ctx context.Context, d decision) error {
	if len(d.accounts)+len(d.bindings) == 0 {
		return nil
	}
	if err := k.o.Home(ctx); err != nil {
		return err
	}
	bound, homeless, err := apply(ctx, k.client, d)
	for _, b := range homeless {
		k.tellHomeless(ctx, b)
	}
	for _, b := range bound {
		k.homeless.Delete(b.grant())
		if b.Sync != "" {
			k.o.Bound(b.Sync)
		}
		if b.name == b.Name {
			k.taken.Delete(b.grant())
		} else {
			k.tellTaken(ctx, b)
		}
	}
	return err
}

// tellTaken makes an Event about the RootSync whose binding has a random name, once for as long as its own is taken.
func (k *Keeper) tellTaken(ctx context.Context, b written) {
	k.tellOnce(ctx, k.taken, b.Binding, "BindingNameTaken", fmt.Sprintf("the RoleBinding %s in namespace %s is not the one of this RootSync: another user created it, or it is a copy from another namespace. "+
		"Holdfast leaves it, and gives %s %s to the account by the RoleBinding %s. To have the name back, delete both", b.Name, b.Namespace, b.Role.Kind, b.Role.Name, b.name))
}

// tellHomeless makes an Event about the RootSync that has no role in a namespace because that does not exist.
func (k *Keeper) tellHomeless(ctx context.Context, b Binding) {
	k.tellOnce(ctx, k.homeless, b, "NoNamespace", fmt.Sprintf("the account has no %s %s in namespace %s, which does not exist or is being deleted. "+
		"It gets it when the namespace is created; until then the RootSync can apply nothing there. Create the namespace, or remove it from spec.override.roleRefs",
		b.Role.Kind, b.Role.Name, b.Namespace))
}

func (k *Keeper) tellOnce(ctx context.Context, told sets.Set[grant], b Binding, reason, note string) {
	known := told.Has(b.grant())
	told.Insert(b.grant())
	rs := &configsyncv1beta1.RootSync{}
	if known || k.client.Get(ctx, client.ObjectKey{Namespace: object.SyncNamespace, Name: string(b.Sync)}, rs) != nil {
		return
	}
	k.o.Warn(rs, reason, "Bind", note)
}

// ensureAll writes the accounts and bindings of all RootSyncs and deletes what none wants. No RootSync waits for it. While
// the accounts may have no rights it deletes all bindings.
func (k *Keeper) ensureAll(ctx context.Context) error {
	d, err := k.applyAll(ctx)
	errs := []error{err}
	if k.o.Away(ctx) {
		d.remove, errs = d.ours, nil
	}
	told := map[types.UID]string{}
	for _, b := range d.strange {
		const note = "it has the label " + configsyncv1beta1.LabelSyncKind + " and was not made for a RootSync: Holdfast does not change it; remove the label"
		if k.tell(told, b, "NotOfRootSync", "Keep", note) {
			ctrl.LoggerFrom(ctx).Info("A binding with the label of those of RootSyncs was not made for one, and is left", "namespace", b.Namespace, "name", b.Name)
		}
	}
	for _, b := range d.remove {
		if b.object.GetDeletionTimestamp() != nil { // a finalizer holds it
			continue
		}
		if err := remove(ctx, k.client, b.object); err != nil {
			errs = append(errs, err)
			k.tell(told, b, "CannotDelete", "Delete", "no RootSync asks for it any more, and it cannot be deleted, which is tried again: "+err.Error())
			continue
		}
		if who, ours := b.owner(); ours && who != "" {
			k.o.Bound(who)
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
	return d, k.apply(ctx, d)
}

// tell makes an Event about a binding, and reports false if it made the same one before.
func (k *Keeper) tell(told map[types.UID]string, b live, reason, action, note string) bool {
	uid := b.object.GetUID()
	told[uid] = note
	if k.told[uid] == note {
		return false
	}
	k.o.Warn(b.object, reason, action, note)
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
	return decide(there, Desired(wants, k.o.Admins())), nil
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
	for g := range k.taken.Union(k.homeless) {
		if g.sync == who {
			k.taken.Delete(g)
			k.homeless.Delete(g)
		}
	}
	if err := client.IgnoreNotFound(k.client.Delete(ctx, account(who))); err != nil {
		return fmt.Errorf("delete ServiceAccount %s: %w", who.Reconciler(), err)
	}
	return nil
}
