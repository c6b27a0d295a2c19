// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const fieldManager = "holdfast-status"

// Observed is what the parts of Holdfast say of themselves.
type Observed struct {
	Version  string
	Features []v1alpha1.FeatureStatus
	// Configuration in force, as YAML.
	Configuration string
	Conditions    []metav1.Condition
}

// Reconciler writes the Holdfast object when what is observed changes.
type Reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	observe  func() Observed
	pauses   timing.Pauses
	wake     chan event.GenericEvent

	// said is what was observed when the status was last written, and brake slows down what is put back although nothing else was
	// observed since: another process writes the status too, and two would overwrite each other without end. Only Reconcile uses
	// them, which is never run twice at once.
	said  *Observed
	brake *rate.Limiter
}

// putBack is how often the status is put back at once.
const putBack = 5

// NewReconciler makes a Reconciler; observe must be safe for concurrent use.
func NewReconciler(c client.Client, recorder events.EventRecorder, clk clock.PassiveClock, observe func() Observed, p timing.Pauses) *Reconciler {
	return &Reconciler{
		client: c, recorder: recorder, clock: clk, observe: observe, pauses: p, wake: make(chan event.GenericEvent, 1),
		brake: rate.NewLimiter(rate.Every(p.StatusRefresh), putBack),
	}
}

// SetupWithManager adds the Reconciler to a manager; it runs on the leader.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Wake() // the object may not exist, and then nothing else starts the first pass
	return ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&v1alpha1.Holdfast{}).
		WatchesRawSource(source.Channel(r.wake, handler.EnqueueRequestsFromMapFunc(
			func(context.Context, client.Object) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: v1alpha1.HoldfastName}}}
			}))).
		Complete(r)
}

// Wake asks for a pass because what is observed may have changed. It never
// blocks.
func (r *Reconciler) Wake() {
	select {
	case r.wake <- event.GenericEvent{Object: &v1alpha1.Holdfast{}}:
	default: // one is waiting already, and it will see this change too
	}
}

// Reconcile writes the status once and then an event for each condition that
// changed.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	holdfast, err := r.get(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	observed := r.observe()
	if slices.ContainsFunc(observed.Conditions, func(c metav1.Condition) bool { return c.Status == metav1.ConditionUnknown }) {
		return reconcile.Result{RequeueAfter: r.pauses.StatusRefresh}, nil // just started; what stood before is still the best there is
	}
	next, changed := compute(holdfast.Status, observed, holdfast.Generation, r.clock.Now())
	tell(next.Conditions)
	if equality.Semantic.DeepEqual(next, holdfast.Status) {
		return reconcile.Result{RequeueAfter: r.pauses.StatusRefresh}, nil
	}
	if r.said != nil && equality.Semantic.DeepEqual(*r.said, observed) && !r.brake.AllowN(r.clock.Now(), 1) {
		return reconcile.Result{RequeueAfter: r.pauses.StatusRefresh}, nil
	}
	holdfast = holdfast.DeepCopy()
	holdfast.Status = next
	if err := r.client.Status().Update(ctx, holdfast, client.FieldOwner(fieldManager)); err != nil {
		return reconcile.Result{}, fmt.Errorf("write status: %w", err)
	}
	r.said = &observed
	for _, c := range changed {
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(holdfast, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	if len(changed) > 0 {
		log.FromContext(ctx).Info("Status changed", "conditions", summary(changed))
	}
	return reconcile.Result{RequeueAfter: r.pauses.StatusRefresh}, nil
}

// Event sends an event about Holdfast itself.
func (r *Reconciler) Event(ctx context.Context, reason, action, message string) {
	holdfast := &v1alpha1.Holdfast{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: v1alpha1.HoldfastName}, holdfast); err != nil {
		return // there is nothing yet that it could be about
	}
	r.recorder.Eventf(holdfast, nil, corev1.EventTypeWarning, reason, action, "%s", cut(message))
}

// get returns the Holdfast object, made if it is not there.
func (r *Reconciler) get(ctx context.Context) (*v1alpha1.Holdfast, error) {
	holdfast := &v1alpha1.Holdfast{}
	err := r.client.Get(ctx, client.ObjectKey{Name: v1alpha1.HoldfastName}, holdfast)
	if !apierrors.IsNotFound(err) {
		if err != nil {
			return nil, fmt.Errorf("get Holdfast: %w", err)
		}
		return holdfast, nil
	}
	holdfast = &v1alpha1.Holdfast{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.HoldfastName}}
	if err := r.client.Create(ctx, holdfast, client.FieldOwner(fieldManager)); err != nil {
		return nil, fmt.Errorf("create Holdfast: %w", err)
	}
	return holdfast, nil
}
