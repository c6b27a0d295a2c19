// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// step is what to do about an anchor.
type step struct {
	// Make is the subnamespace to make, and Delete the one to delete.
	Make, Delete *corev1.Namespace
	// Write is the anchor to write after that.
	Write *hncv1alpha2.SubnamespaceAnchor
}

// next says what to do about an anchor now.
func next(p *world.AnchorPlan) step {
	var s step
	want := p.Anchor.DeepCopy()
	going := p.Anchor.DeletionTimestamp != nil
	want.Status.State = p.State
	switch {
	case p.State == hncv1alpha2.AnchorMissing && !going && p.Within.DeletionTimestamp == nil:
		s.Make = born(p)
		want.Status.State = hncv1alpha2.AnchorOk
	case going && waits(p) && p.DeletesSubnamespace:
		s.Delete = p.Subnamespace
	}
	switch {
	case p.State == hncv1alpha2.AnchorForbidden, going && !waits(p):
		controllerutil.RemoveFinalizer(want, hncv1alpha2.FinalizerAnchor)
	case !going: // the API server takes no new one later
		controllerutil.AddFinalizer(want, hncv1alpha2.FinalizerAnchor)
	}
	if !equality.Semantic.DeepEqual(want, p.Anchor) {
		s.Write = want
	}
	return s
}

// claim is that of an anchor on its subnamespace.
func claim(p *world.AnchorPlan) ownership.Claim {
	return ownership.At(ownership.Subnamespace, ownership.Anchor(p.Anchor.Namespace), p.Anchor.CreationTimestamp.Time)
}

// lets says whether a subnamespace goes when its anchor does: not if somebody has a
// stronger claim on it, nor if nobody can tell.
func lets(p *world.AnchorPlan) (bool, error) {
	if !p.DeletesSubnamespace {
		return false, nil
	}
	v, err := ownership.Decide(p.Subnamespace)
	return v.Owns(claim(p).Claimant), err
}

// waits says whether an anchor that is being deleted waits for its subnamespace to
// go. Without the finalizer the subnamespace is not its own to delete.
func waits(p *world.AnchorPlan) bool {
	return p.State == hncv1alpha2.AnchorOk && controllerutil.ContainsFinalizer(p.Anchor, hncv1alpha2.FinalizerAnchor) &&
		(p.DeletesSubnamespace || p.Subnamespace != nil && p.Subnamespace.DeletionTimestamp != nil)
}

// born returns the subnamespace of an anchor with all its labels, so that what selects by them never misses it. Its claim
// is not bound to it, since it has no UID yet; it tells the next leader that Holdfast created it, see world.unfinished.
func born(p *world.AnchorPlan) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: p.Anchor.Name,
		Annotations: map[string]string{
			hncv1alpha2.AnnotationSubnamespaceOf: p.Anchor.Namespace,
			v1alpha1.ClaimsAnnotation:            ownership.New(claim(p)).String(),
		},
	}}
	if p.Born != nil {
		ns.Labels = p.Born.Labels
		maps.Copy(ns.Annotations, p.Born.Annotations)
	}
	return ns
}

// anchor brings an anchor and its subnamespace to what they should be. The
// subnamespace comes first: if the process ends in between, the next one finds the
// subnamespace and writes what is left.
func (k *Keeper) anchor(ctx context.Context, at world.Ref) error {
	p := k.o.World.Anchor(at)
	if p == nil {
		return nil
	}
	// The subnamespace can be known before what was written to its anchor.
	if last, ok := k.anchored.Get(at); ok && k.behind(last.(stamp), p.Anchor.ResourceVersion) {
		return nil
	}
	var undecided error
	if p.DeletesSubnamespace, undecided = lets(p); undecided != nil && p.Anchor.DeletionTimestamp != nil {
		return undecided
	}
	s := next(p)
	if s.Make != nil {
		if err := k.o.Client.Create(ctx, s.Make, client.FieldOwner(fieldManager)); err != nil {
			return errors.Join(fmt.Errorf("make the subnamespace: %w", err), k.missing(ctx, p, err))
		}
		writes.WithLabelValues("subnamespace").Inc()
	}
	if s.Delete != nil {
		// As it is known: somebody else may have laid claim to it meanwhile.
		err := k.o.Client.Delete(ctx, s.Delete.DeepCopy(), client.Preconditions{UID: &s.Delete.UID, ResourceVersion: &s.Delete.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the subnamespace: %w", err)
		}
		writes.WithLabelValues("subnamespace").Inc()
	}
	if s.Write == nil {
		return nil
	}
	return k.writeAnchor(ctx, at, s.Write)
}

// writeAnchor writes an anchor, if it is still there.
func (k *Keeper) writeAnchor(ctx context.Context, at world.Ref, a *hncv1alpha2.SubnamespaceAnchor) error {
	err := k.o.Client.Update(ctx, a, client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the anchor: %w", err)
	}
	k.anchored.Add(at, k.stamp(a.ResourceVersion))
	writes.WithLabelValues("anchor").Inc()
	return nil
}

// missing says on an anchor that there is no subnamespace, and why it cannot be
// made. If there is one meanwhile, the watch tells soon.
func (k *Keeper) missing(ctx context.Context, p *world.AnchorPlan, why error) error {
	if apierrors.IsAlreadyExists(why) {
		return nil
	}
	k.o.Events.Eventf(p.Anchor, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotUpdate, "Make", "the subnamespace cannot be made: %v", why)
	if p.Anchor.Status.State == hncv1alpha2.AnchorMissing {
		return nil
	}
	want := p.Anchor.DeepCopy()
	want.Status.State = hncv1alpha2.AnchorMissing
	return k.writeAnchor(ctx, world.Ref{Namespace: want.Namespace, Name: want.Name}, want)
}
