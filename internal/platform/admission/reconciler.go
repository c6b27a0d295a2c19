// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	controllerName = "admission.objects"
	// fieldManager owns the admission objects, and nothing else does.
	fieldManager = "holdfast-admission"
	// resync bounds how long a lost event can hide a difference. It reads the
	// cache only.
	resync = 10 * time.Minute
	// namePrefix begins the name of every object that is Holdfast's.
	namePrefix = "holdfast-"

	// A pass on a cache that is behind would write everything twice.
	cachePause    = 50 * time.Millisecond
	cachePatience = 2 * time.Second
)

// Wanted is what should be installed now.
type Wanted struct {
	Declaration Declaration
	// CABundle is what the API server must trust; without one no webhook is
	// installed.
	CABundle []byte
}

// Options of a Reconciler.
type Options struct {
	Endpoint Endpoint
	// Wanted is asked at each pass; it must be safe for concurrent use. While it
	// fails, what is installed stays.
	Wanted func() (Wanted, error)
	// Changed is called after each pass that changed what Condition returns.
	Changed func()
	// Repaired is called after something was put back that was changed or deleted
	// by hand, with a sentence for people.
	Repaired func(what string)
	Clock    clock.PassiveClock
}

// Reconciler keeps the admission objects as declared while the anchor is there.
// It reconciles one kind, the anchor; everything else wakes it.
type Reconciler struct {
	client  client.Client
	options Options
	wake    chan event.GenericEvent

	// installed is what the last pass brought about, and brake slows a fight.
	// Only Reconcile uses them, which is never run twice at once.
	installed []client.Object
	brake     *brake
	// pending are the resource versions that this Reconciler wrote and has not
	// seen in the cache yet.
	pending      map[objectKey]string
	pendingSince time.Time

	mu        sync.Mutex
	condition metav1.Condition
}

// NewReconciler makes a Reconciler. The client must read from a cache that
// holds the anchor and the objects with ManagedByLabel.
func NewReconciler(c client.Client, o Options) *Reconciler {
	return &Reconciler{
		client:  c,
		options: o,
		wake:    make(chan event.GenericEvent, 1),
		brake:   newBrake(),
		pending: map[objectKey]string{},
		condition: metav1.Condition{
			Type: v1alpha1.ConditionAdmissionInstalled, Status: metav1.ConditionUnknown,
			Reason: v1alpha1.ReasonNotYetInstalled, Message: "the admission objects have not been looked at yet",
		},
	}
}

// SetupWithManager adds the Reconciler to a manager; it runs on the leader.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	toAnchor := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: AnchorName}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&rbacv1.ClusterRole{}, builder.OnlyMetadata).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicy{}, toAnchor).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, toAnchor).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, toAnchor).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, toAnchor).
		WatchesRawSource(source.Channel(r.wake, toAnchor)).
		Complete(r)
}

// Wake asks for a pass because what is wanted may have changed. It never
// blocks.
func (r *Reconciler) Wake() {
	select {
	case r.wake <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{}}:
	default: // one is waiting already, and it will see this change too
	}
}

// Condition says whether everything is installed.
func (r *Reconciler) Condition() metav1.Condition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.condition
}

// Reconcile makes the API server's objects equal to the declared ones.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	anchor, err := r.anchor(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if anchor == "" {
		return reconcile.Result{}, r.stop(ctx)
	}
	anchorPresent.WithLabelValues().Set(1)
	wanted, err := r.options.Wanted()
	if err != nil {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonRefused, err.Error())
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	return r.install(ctx, wanted, anchor)
}

// install brings about what is desired and says how that went. When the same was
// there before, what has to be written was changed or deleted by hand.
func (r *Reconciler) install(ctx context.Context, wanted Wanted, anchor types.UID) (reconcile.Result, error) {
	desired := render(wanted.Declaration, anchor, r.options.Endpoint, wanted.CABundle)
	repairing := equality.Semantic.DeepEqual(desired, r.installed)
	if repairing && r.brake.holds(r.options.Clock.Now()) {
		return reconcile.Result{RequeueAfter: brakePause}, nil
	}
	current, err := r.current(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.behind(current) {
		return reconcile.Result{RequeueAfter: cachePause}, nil
	}
	stays := wanted.Declaration.stays(desired, current, anchor, r.options.Endpoint, wanted.CABundle)
	written, err := r.sync(ctx, stays, current)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil // the cache is behind; its event comes
	}
	if err != nil {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonAPIError, err.Error())
		return reconcile.Result{}, err
	}
	r.installed = desired
	if repairing && len(written) > 0 {
		r.repaired(ctx, written)
	}
	if !r.brake.calm(r.options.Clock.Now()) {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonContested, textContested)
		return reconcile.Result{RequeueAfter: brakePause}, nil
	}
	// Nothing that this process remembers may be part of it: two that both
	// believe to lead would overwrite each other's status without end.
	r.report(metav1.ConditionTrue, v1alpha1.ReasonInstalled, "all admission objects are installed as declared")
	return reconcile.Result{RequeueAfter: resync}, nil
}

// stop sees to it that nothing is left in force once the anchor is gone. The
// garbage collector does that as well, with Holdfast dead or alive, but not for
// an object that lost its owner reference, as all do when the anchor is deleted
// with --cascade=orphan.
func (r *Reconciler) stop(ctx context.Context) error {
	anchorPresent.WithLabelValues().Set(0)
	r.installed = nil
	log.FromContext(ctx).Info("Anchor is missing, nothing is enforced or restored", "clusterRole", AnchorName)
	current, err := r.current(ctx)
	if err != nil {
		return err
	}
	if _, err := r.sync(ctx, nil, current); err != nil && !apierrors.IsConflict(err) {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonAnchorMissing,
			"the ClusterRole "+AnchorName+" does not exist, and not everything that it owned could be deleted: "+err.Error())
		return err
	}
	r.report(metav1.ConditionFalse, v1alpha1.ReasonAnchorMissing,
		"the ClusterRole "+AnchorName+" does not exist: Holdfast refuses nothing and restores nothing until it is made again")
	return nil
}

// repaired says that something was put back that nobody had configured away.
func (r *Reconciler) repaired(ctx context.Context, written []client.Object) {
	names := make([]string, 0, len(written))
	r.brake.repaired(r.options.Clock.Now())
	for _, o := range written {
		repairs.WithLabelValues(kindOf(o)).Inc()
		names = append(names, kindOf(o)+"/"+o.GetName())
	}
	log.FromContext(ctx).Info("Restored admission objects that were changed or deleted by hand", "objects", names)
	r.options.Repaired("Restored after somebody changed or deleted them: " + strings.Join(names, ", "))
}

// anchor returns the UID of the anchor, or "" when there is none or it is going.
func (r *Reconciler) anchor(ctx context.Context) (types.UID, error) {
	anchor := &metav1.PartialObjectMetadata{}
	anchor.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	err := r.client.Get(ctx, client.ObjectKey{Name: AnchorName}, anchor)
	if apierrors.IsNotFound(err) || err == nil && anchor.DeletionTimestamp != nil {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get anchor: %w", err)
	}
	return anchor.UID, nil
}

// sync writes what differs and deletes what is no longer declared, and returns
// what it wrote. One object that fails does not keep back the others.
func (r *Reconciler) sync(ctx context.Context, desired []client.Object, current map[objectKey]client.Object) (written []client.Object, err error) {
	var errs []error
	for _, d := range desired {
		key := keyOf(d)
		changed, err := r.put(ctx, d, current[key])
		if changed {
			written = append(written, d)
		}
		errs = append(errs, err)
		delete(current, key)
	}
	for _, stale := range current {
		errs = append(errs, r.remove(ctx, stale))
	}
	return written, joined(errs)
}

// joined keeps a conflict recognizable when it is all that went wrong.
func joined(errs []error) error {
	var conflict error
	var others []error
	for _, err := range errs {
		if apierrors.IsConflict(err) {
			conflict = err
		} else if err != nil {
			others = append(others, err)
		}
	}
	if len(others) > 0 {
		return errors.Join(others...)
	}
	return conflict
}

func (r *Reconciler) report(status metav1.ConditionStatus, reason, message string) {
	allInstalled.WithLabelValues().Set(map[bool]float64{true: 1}[status == metav1.ConditionTrue])
	r.mu.Lock()
	before := r.condition
	r.condition.Status, r.condition.Reason, r.condition.Message = status, reason, message
	changed := before != r.condition
	r.mu.Unlock()
	if changed {
		r.options.Changed()
	}
}
