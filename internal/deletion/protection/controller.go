// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protection brings ResourceDeletionProtections into force and writes
// their status.
package protection

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/specs"
	"github.com/holdfast-dev/holdfast/internal/platform/trigger"
)

const (
	fieldManager = "holdfast-protection"
	// settle is how long counts may change before they are written.
	settle = time.Second
	// workers write the status of many protections at the start.
	workers = 4
)

// Reporter knows what a protection selects.
type Reporter interface {
	Report(p *selection.Protection) marker.Report
}

// Options of a Reconciler.
type Options struct {
	Client      client.Client
	Protections *selection.Set
	Reporter    Reporter
	// Mode of the deletion guard.
	Mode  func() configv1alpha1.Mode
	Clock clock.PassiveClock
}

// Reconciler writes the status of protections.
type Reconciler struct {
	o       Options
	trigger trigger.Trigger
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler { return &Reconciler{o: o} }

// SetupWithManager adds the Reconciler to a manager; it runs on the leader.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("deletion.protection").
		For(&v1alpha1.ResourceDeletionProtection{}).
		WatchesRawSource(r.trigger.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Changed asks for the status of a protection to be written. It never blocks.
func (r *Reconciler) Changed(name string) {
	r.trigger.Ask(name, settle)
}

// Reconcile writes the status once.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	in := &v1alpha1.ResourceDeletionProtection{}
	if err := r.o.Client.Get(ctx, req.NamespacedName, in); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p, err := selection.New(in)
	next := in.DeepCopy()
	if err != nil { // the schema lets nothing of this pass
		invalid(&next.Status, in.Generation, err, r.o.Clock.Now())
	} else {
		compute(&next.Status, in.Generation, r.o.Reporter.Report(p), r.o.Mode(), r.o.Clock.Now())
	}
	if equality.Semantic.DeepEqual(next.Status, in.Status) {
		return reconcile.Result{}, nil
	}
	if err := r.o.Client.Status().Update(ctx, next, client.FieldOwner(fieldManager)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return reconcile.Result{}, nil
}

// Follow keeps the set in line with the cache, on every replica, and tells of
// each change.
func Follow(ctx context.Context, c cache.Cache, set *selection.Set, changed func(before, after *selection.Protection)) (func() bool, error) {
	return specs.Follow(ctx, c, &v1alpha1.ResourceDeletionProtection{},
		func(in *v1alpha1.ResourceDeletionProtection) {
			p, err := selection.New(in)
			if err != nil {
				ctrl.Log.WithName("deletion.protection").Error(err, "Protection cannot be put into force", "name", in.Name)
				return
			}
			changed(set.Put(p), p)
		},
		func(in *v1alpha1.ResourceDeletionProtection) { changed(set.Delete(in.Name), nil) },
	)
}
