// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package override puts DeletionOverrides in force and ends them.
package override

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/trigger"
)

const fieldManager = "holdfast-override"

// Stamper writes on the target that an override is in force.
type Stamper interface {
	SetOverride(t marker.Target, s *marker.Stamp)
}

// Options of a Reconciler.
type Options struct {
	Client   client.Client
	Metadata metadata.Interface
	Kinds    func() *inventory.Snapshot
	Stamper  Stamper
	Rules    func() configv1alpha1.OverridesConfiguration
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconciler puts overrides in force and ends them.
type Reconciler struct {
	o       Options
	trigger trigger.Trigger

	mu sync.Mutex
	// inForce are the overrides that are in force, by their names.
	inForce map[string]inForce
}

type inForce struct {
	target marker.Target
	stamp  marker.Stamp
}

// NewReconciler makes a Reconciler.
func NewReconciler(o Options) *Reconciler {
	return &Reconciler{o: o, inForce: map[string]inForce{}}
}

// SetupWithManager adds the Reconciler to a manager; it runs on the leader.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("deletion.override").
		For(&v1alpha1.DeletionOverride{}).
		WatchesRawSource(r.trigger.Source()).
		Complete(r)
}

// Gone tells that the target of an override was deleted. It never blocks.
func (r *Reconciler) Gone(name string) {
	r.trigger.Ask(name, 0)
}

// Restore puts the overrides in force that were when the last leader ended. What
// has ended since, Reconcile ends.
func (r *Reconciler) Restore(ctx context.Context) error {
	list := &v1alpha1.DeletionOverrideList{}
	if err := r.o.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list overrides: %w", err)
	}
	for i := range list.Items {
		if in := &list.Items[i]; in.Status.Phase == v1alpha1.OverrideActive {
			r.stamp(in)
		}
	}
	return nil
}

// Reconcile brings an override to where it stands now, and writes that once.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	in := &v1alpha1.DeletionOverride{}
	err := r.o.Client.Get(ctx, req.NamespacedName, in)
	if apierrors.IsNotFound(err) || err == nil && in.DeletionTimestamp != nil {
		r.retract(req.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get override: %w", err)
	}
	found, err := r.find(ctx, in)
	if err != nil && !r.over(in) { // its end does not depend on whether the target can be read
		return reconcile.Result{}, err
	}
	next, again := Next(in, found, r.o.Rules(), r.o.Clock.Now())
	// The status goes first: what is in force must be on record before it can be
	// used, and what is over must not come back after a crash.
	if !equality.Semantic.DeepEqual(next, in.Status) {
		if err := r.write(ctx, in, next); err != nil {
			return reconcile.Result{}, err
		}
	}
	if next.Phase == v1alpha1.OverrideActive {
		r.stamp(in)
	} else {
		r.retract(in.Name)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// over says whether an override that was in force has come to its end.
func (r *Reconciler) over(in *v1alpha1.DeletionOverride) bool {
	return in.Status.Phase == v1alpha1.OverrideActive && in.Status.ExpiresAt != nil && !r.o.Clock.Now().Before(in.Status.ExpiresAt.Time)
}

func (r *Reconciler) write(ctx context.Context, in *v1alpha1.DeletionOverride, next v1alpha1.DeletionOverrideStatus) error {
	before := in.Status.Phase
	out := in.DeepCopy()
	out.Status = next
	if err := r.o.Client.Status().Update(ctx, out, client.FieldOwner(fieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	if before != next.Phase {
		t := in.Spec.Target
		log.FromContext(ctx).Info("Override changed", "phase", next.Phase, "kind", t.Kind, "namespace", t.Namespace, "name", t.Name,
			"requestedBy", in.Spec.RequestedBy, "approvedBy", in.Spec.ApprovedBy, "reason", in.Spec.Reason)
		r.o.Recorder.Eventf(out, nil, corev1.EventTypeNormal, string(next.Phase), "Override", "%s %s: %s (asked by %s: %s)",
			t.Kind, t.Name, next.Message, in.Spec.RequestedBy, in.Spec.Reason)
	}
	return nil
}

func (r *Reconciler) stamp(in *v1alpha1.DeletionOverride) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := targetOf(in)
	before, had := r.inForce[in.Name]
	r.inForce[in.Name] = inForce{t, marker.Stamp{Override: in.Name, Contents: in.Spec.IncludeContents}}
	r.settle(t)
	if had && before.target != t { // the name was used again
		r.settle(before.target)
	}
}

func (r *Reconciler) retract(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ok := r.inForce[name]
	if !ok {
		return
	}
	delete(r.inForce, name)
	r.settle(in.target)
	for other, o := range r.inForce {
		if o.target.UID == in.target.UID {
			r.Gone(other) // it may be, and the stamp named one override only
		}
	}
}

// settle has a target carry the stamp of the override that lets most go of those
// that are in force for it, or none.
func (r *Reconciler) settle(t marker.Target) {
	var best *marker.Stamp
	for _, in := range r.inForce {
		s := in.stamp
		if in.target.UID == t.UID && (best == nil || s.Contents && !best.Contents ||
			s.Contents == best.Contents && s.Override < best.Override) {
			best = &s
		}
	}
	r.o.Stamper.SetOverride(t, best)
}

func targetOf(in *v1alpha1.DeletionOverride) marker.Target {
	t := in.Spec.Target
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	if err != nil {
		gv.Group = t.APIVersion // there is no such kind
	}
	return marker.Target{
		Kind:      schema.GroupKind{Group: gv.Group, Kind: t.Kind},
		Namespace: t.Namespace, Name: t.Name, UID: types.UID(t.UID),
	}
}

// find looks for the target. With an error it is taken to be there.
func (r *Reconciler) find(ctx context.Context, in *v1alpha1.DeletionOverride) (Found, error) {
	t := targetOf(in)
	kinds := r.o.Kinds()
	if kinds == nil {
		return FoundTarget, errors.New("the kinds that the API server serves are not known yet")
	}
	kind, ok := kinds.ByKind(t.Kind)
	if !ok || kind.Namespaced != (t.Namespace != "") {
		return FoundNothing, nil
	}
	o, err := r.o.Metadata.Resource(kind.Resource).Namespace(t.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return FoundNothing, nil
	case err != nil:
		return FoundTarget, fmt.Errorf("get target: %w", err)
	case o.UID != t.UID:
		return FoundOther, nil
	case o.DeletionTimestamp != nil: // nothing stops that any more
		return FoundNothing, nil
	}
	return FoundTarget, nil
}
