// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
)

// The kinds of admission objects.
const (
	policyKind     = "ValidatingAdmissionPolicy"
	bindingKind    = "ValidatingAdmissionPolicyBinding"
	mutatingKind   = "MutatingWebhookConfiguration"
	validatingKind = "ValidatingWebhookConfiguration"
)

type objectKey struct{ kind, name string }

func keyOf(o client.Object) objectKey { return objectKey{kindOf(o), o.GetName()} }

func kindOf(o client.Object) string {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return policyKind
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return bindingKind
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return mutatingKind
	default:
		return validatingKind
	}
}

func (r *Reconciler) current(ctx context.Context) (map[objectKey]client.Object, error) {
	var (
		policies admissionregistrationv1.ValidatingAdmissionPolicyList
		bindings admissionregistrationv1.ValidatingAdmissionPolicyBindingList
		mutating admissionregistrationv1.MutatingWebhookConfigurationList
		webhooks admissionregistrationv1.ValidatingWebhookConfigurationList
		ours     = client.MatchingLabels{ManagedByLabel: ManagedByValue}
	)
	for _, list := range []client.ObjectList{&policies, &bindings, &mutating, &webhooks} {
		if err := r.client.List(ctx, list, ours); err != nil {
			return nil, fmt.Errorf("list admission objects: %w", err)
		}
	}
	out := map[objectKey]client.Object{}
	// The label can stand on somebody else's objects, and those are not ours to
	// delete; names with the prefix are.
	add := func(o client.Object) {
		if strings.HasPrefix(o.GetName(), namePrefix) {
			out[keyOf(o)] = o
		}
	}
	for i := range policies.Items {
		add(&policies.Items[i])
	}
	for i := range bindings.Items {
		add(&bindings.Items[i])
	}
	for i := range mutating.Items {
		add(&mutating.Items[i])
	}
	for i := range webhooks.Items {
		add(&webhooks.Items[i])
	}
	return out, nil
}

func (r *Reconciler) put(ctx context.Context, desired, current client.Object) (changed bool, err error) {
	if current == nil {
		version, err := r.create(ctx, desired)
		if err != nil {
			return false, fmt.Errorf("create %s %s: %w", kindOf(desired), desired.GetName(), err)
		}
		r.wrote(desired, version, "create")
		log.FromContext(ctx).Info("Wrote admission object", "kind", kindOf(desired), "name", desired.GetName(), "how", "create")
		return true, nil
	}
	if same(desired, current) {
		return false, nil
	}
	// A whole update and not an apply: these objects are Holdfast's alone, and
	// an apply would keep what somebody else has added to them.
	updated := desired.DeepCopyObject().(client.Object)
	updated.SetResourceVersion(current.GetResourceVersion())
	if err := r.client.Update(ctx, updated, client.FieldOwner(fieldManager)); err != nil {
		return false, fmt.Errorf("update %s %s: %w", kindOf(desired), desired.GetName(), err)
	}
	r.wrote(desired, updated.GetResourceVersion(), "update")
	log.FromContext(ctx).Info("Wrote admission object", "kind", kindOf(desired), "name", desired.GetName(), "how", "update")
	return true, nil
}

// create goes by server-side apply, because RBAC can bind that to names.
func (r *Reconciler) create(ctx context.Context, desired client.Object) (resourceVersion string, err error) {
	gvk, err := apiutil.GVKForObject(desired, r.client.Scheme())
	if err != nil {
		return "", err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return "", err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// wrote remembers what the cache must show before it can be trusted again.
func (r *Reconciler) wrote(o client.Object, resourceVersion, verb string) {
	writes.WithLabelValues(kindOf(o), verb).Inc()
	r.pending[keyOf(o)] = resourceVersion
	r.pendingSince = r.options.Clock.Now()
}

// behind says whether the cache does not show yet what this Reconciler wrote.
// An object that was deleted again right after may never show.
func (r *Reconciler) behind(current map[objectKey]client.Object) bool {
	if r.options.Clock.Since(r.pendingSince) < cachePatience {
		for key, version := range r.pending {
			o := current[key]
			if o == nil {
				return true
			}
			if resourceversion.Newer(version, o.GetResourceVersion()) {
				return true
			}
		}
	}
	clear(r.pending)
	return false
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
	if len(current.GetFinalizers()) > 0 { // one would hold up the emergency stop
		return false
	}
	switch d := desired.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return equality.Semantic.DeepEqual(d.Spec, current.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return equality.Semantic.DeepEqual(d.Spec, current.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return equality.Semantic.DeepEqual(d.Webhooks, current.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return equality.Semantic.DeepEqual(d.Webhooks, current.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks)
	}
	return false
}
