// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package responder answers the Evictions of the API group lifecycle.k8s.io
// (KEP-4563) in which Holdfast is the active responder: it has the pod judged as
// the webhook does, and reports.
package responder

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1alpha1 "k8s.io/client-go/applyconfigurations/lifecycle/v1alpha1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/progress"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// fieldManager is whom Holdfast's part of the status of an Eviction belongs to.
const fieldManager = "holdfast-eviction-responder"

// Resource is what is watched.
var Resource = lifecyclev1alpha1.SchemeGroupVersion.WithResource("evictions")

// Options of a Responder.
type Options struct {
	Client kubernetes.Interface
	// On says whether Holdfast responds at all now, and InScope whether it does in a
	// namespace.
	On      func() bool
	InScope func(ctx context.Context, namespace string) (bool, error)
	// Judge judges an eviction and does what the verdict asks for; first is true
	// when it is the first time for an Eviction. An error is passed over, as the
	// API server passes over that of a webhook: after 20 minutes without a heartbeat
	// the next responder has its turn.
	Judge  func(ctx context.Context, r policy.Request, first bool) (policy.Verdict, error)
	Clock  clock.PassiveClock
	Pauses timing.Pauses
}

// Responder answers Evictions. It implements inventory.Handler.
type Responder struct {
	o     Options
	queue queue
}

// New makes a Responder.
func New(o Options) *Responder { return &Responder{o: o} }

// SetupWithManager adds it to a manager; it runs on the leader. It does nothing
// until it is told of Evictions.
func (r *Responder) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("eviction.responder").
		WatchesRawSource(source.Func(r.queue.start)).
		Complete(r)
}

// Reconcile looks at one Eviction. It reads past any cache: what is written rests
// on the state of the responder.
func (r *Responder) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.o.On() {
		return reconcile.Result{}, nil // the watch begins anew, and tells of all
	}
	in, err := r.o.Client.LifecycleV1alpha1().Evictions(req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil // it is gone, or the API server serves none any more
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get Eviction: %w", err)
	}
	mine, ok := progress.Mine(in)
	if !ok {
		return reconcile.Result{}, nil
	}
	if inScope, err := r.o.InScope(ctx, req.Namespace); err != nil || !inScope {
		return reconcile.Result{RequeueAfter: r.o.Pauses.EvictionScope}, err
	}
	found, err := r.look(ctx, in, mine.HeartbeatTime == nil)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "An Eviction could not be judged", "pod", in.Spec.Target.Pod.Name)
		return reconcile.Result{RequeueAfter: r.o.Pauses.EvictionLook}, nil
	}
	next, again := progress.Next(mine, found, r.o.Clock.Now(), r.o.Pauses)
	if next == nil {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	if err := r.write(ctx, in, next); err != nil {
		return reconcile.Result{}, err
	}
	if mine.HeartbeatTime == nil || next.CompletionTime != nil {
		ctrl.LoggerFrom(ctx).Info("Responded to an Eviction", "pod", in.Spec.Target.Pod.Name, "completed", next.CompletionTime != nil, "message", *next.Message)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// look finds out how things stand with the pod. One that is on its way is not
// judged: there is nothing left to ask its operator for.
func (r *Responder) look(ctx context.Context, in *lifecyclev1alpha1.Eviction, first bool) (out progress.Found, err error) {
	target := in.Spec.Target.Pod
	pod, err := r.o.Client.CoreV1().Pods(in.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && pod.UID != target.UID:
		out.Gone = true
		return out, nil
	case err != nil:
		return out, fmt.Errorf("get pod: %w", err)
	}
	out.Finished = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	out.Terminating = pod.DeletionTimestamp
	if out.Finished || out.Terminating != nil {
		return out, nil
	}
	out.Verdict, err = r.o.Judge(ctx, policy.Request{Namespace: in.Namespace, Name: target.Name, UID: target.UID}, first)
	return out, err
}

// write applies Holdfast's part of the status, and no other. The version makes sure
// that it is about the Eviction that was read.
func (r *Responder) write(ctx context.Context, in *lifecyclev1alpha1.Eviction, next *lifecyclev1alpha1.ResponderStatus) error {
	part := applyv1alpha1.ResponderStatus().WithName(v1alpha1.EvictionResponder).WithHeartbeatTime(*next.HeartbeatTime).WithMessage(*next.Message)
	part.ExpectedCompletionTime, part.CompletionTime = next.ExpectedCompletionTime, next.CompletionTime
	_, err := r.o.Client.LifecycleV1alpha1().Evictions(in.Namespace).ApplyStatus(ctx,
		applyv1alpha1.Eviction(in.Name, in.Namespace).WithResourceVersion(in.ResourceVersion).
			WithStatus(applyv1alpha1.EvictionStatus().WithResponders(part)),
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write status of Eviction: %w", err)
	}
	return nil
}
