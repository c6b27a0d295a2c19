// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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
}

// Reconciler keeps the admission objects as declared while the anchor is there.
// It reconciles one kind, the anchor; everything else wakes it.
type Reconciler struct {
	client  client.Client
	options Options
	wake    chan event.GenericEvent

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
		anchorPresent.Set(0)
		log.FromContext(ctx).Info("Anchor is missing, nothing is enforced or restored", "clusterRole", AnchorName)
		r.report(metav1.ConditionFalse, v1alpha1.ReasonAnchorMissing,
			"the ClusterRole "+AnchorName+" does not exist: Holdfast refuses nothing and restores nothing until it is made again")
		return reconcile.Result{}, nil
	}
	anchorPresent.Set(1)
	wanted, err := r.options.Wanted()
	if err != nil {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonRefused, err.Error())
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	if err := r.sync(ctx, render(wanted.Declaration, anchor, r.options.Endpoint, wanted.CABundle)); err != nil {
		r.report(metav1.ConditionFalse, v1alpha1.ReasonAPIError, err.Error())
		return reconcile.Result{}, err
	}
	r.report(metav1.ConditionTrue, v1alpha1.ReasonInstalled, "all admission objects are installed as declared")
	return reconcile.Result{RequeueAfter: resync}, nil
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

// sync writes what differs and deletes what is no longer declared. One object
// that fails does not keep back the others.
func (r *Reconciler) sync(ctx context.Context, desired []client.Object) error {
	current, err := r.current(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range desired {
		key := keyOf(d)
		errs = append(errs, r.put(ctx, d, current[key]))
		delete(current, key)
	}
	for _, stale := range current {
		errs = append(errs, r.remove(ctx, stale))
	}
	return errors.Join(errs...)
}

type objectKey struct{ kind, name string }

func keyOf(o client.Object) objectKey { return objectKey{kindOf(o), o.GetName()} }

func kindOf(o client.Object) string {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return "ValidatingAdmissionPolicy"
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return "ValidatingAdmissionPolicyBinding"
	default:
		return "ValidatingWebhookConfiguration"
	}
}

func (r *Reconciler) current(ctx context.Context) (map[objectKey]client.Object, error) {
	var (
		policies admissionregistrationv1.ValidatingAdmissionPolicyList
		bindings admissionregistrationv1.ValidatingAdmissionPolicyBindingList
		webhooks admissionregistrationv1.ValidatingWebhookConfigurationList
		ours     = client.MatchingLabels{ManagedByLabel: ManagedByValue}
	)
	for _, list := range []client.ObjectList{&policies, &bindings, &webhooks} {
		if err := r.client.List(ctx, list, ours); err != nil {
			return nil, fmt.Errorf("list admission objects: %w", err)
		}
	}
	out := map[objectKey]client.Object{}
	for i := range policies.Items {
		out[keyOf(&policies.Items[i])] = &policies.Items[i]
	}
	for i := range bindings.Items {
		out[keyOf(&bindings.Items[i])] = &bindings.Items[i]
	}
	for i := range webhooks.Items {
		out[keyOf(&webhooks.Items[i])] = &webhooks.Items[i]
	}
	return out, nil
}

func (r *Reconciler) put(ctx context.Context, desired, current client.Object) error {
	if current == nil {
		if err := r.create(ctx, desired); err != nil {
			return fmt.Errorf("create %s %s: %w", kindOf(desired), desired.GetName(), err)
		}
		writes.WithLabelValues(kindOf(desired), "create").Inc()
		log.FromContext(ctx).Info("Wrote admission object", "kind", kindOf(desired), "name", desired.GetName(), "how", "create")
		return nil
	}
	if same(desired, current) {
		return nil
	}
	// A whole update and not an apply: these objects are Holdfast's alone, and
	// an apply would keep what somebody else has added to them.
	updated := desired.DeepCopyObject().(client.Object)
	updated.SetResourceVersion(current.GetResourceVersion())
	if err := r.client.Update(ctx, updated, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("update %s %s: %w", kindOf(desired), desired.GetName(), err)
	}
	writes.WithLabelValues(kindOf(desired), "update").Inc()
	log.FromContext(ctx).Info("Wrote admission object", "kind", kindOf(desired), "name", desired.GetName(), "how", "update")
	return nil
}

// create goes by server-side apply, because RBAC can bind that to names.
func (r *Reconciler) create(ctx context.Context, desired client.Object) error {
	gvk, err := apiutil.GVKForObject(desired, r.client.Scheme())
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership)
}

func (r *Reconciler) remove(ctx context.Context, stale client.Object) error {
	uid, version := stale.GetUID(), stale.GetResourceVersion()
	err := r.client.Delete(ctx, stale, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", kindOf(stale), stale.GetName(), err)
	}
	writes.WithLabelValues(kindOf(stale), "delete").Inc()
	log.FromContext(ctx).Info("Deleted admission object that is no longer declared", "kind", kindOf(stale), "name", stale.GetName())
	return nil
}

// same compares all that render writes.
func same(desired, current client.Object) bool {
	for k, v := range desired.GetLabels() {
		if current.GetLabels()[k] != v {
			return false
		}
	}
	if !equality.Semantic.DeepEqual(desired.GetOwnerReferences(), current.GetOwnerReferences()) {
		return false
	}
	switch d := desired.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return equality.Semantic.DeepEqual(d.Spec, current.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return equality.Semantic.DeepEqual(d.Spec, current.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return equality.Semantic.DeepEqual(d.Webhooks, current.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks)
	}
	return false
}

func (r *Reconciler) report(status metav1.ConditionStatus, reason, message string) {
	installed.Set(map[bool]float64{true: 1}[status == metav1.ConditionTrue])
	r.mu.Lock()
	before := r.condition
	r.condition.Status, r.condition.Reason, r.condition.Message = status, reason, message
	changed := before != r.condition
	r.mu.Unlock()
	if changed {
		r.options.Changed()
	}
}
