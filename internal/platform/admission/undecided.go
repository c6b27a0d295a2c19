// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stays makes what is desired leave alone what is not decided yet: policies are
// taken out of what is compared, and webhooks are taken over as they stand, but for
// where they are reached.
func (d Declaration) stays(desired []client.Object, current map[objectKey]client.Object, anchor types.UID, endpoint Endpoint, caBundle []byte) []client.Object {
	for _, p := range d.Policies {
		if p.Undecided {
			for _, name := range []string{p.Name, p.Name + EchoSuffix} {
				delete(current, objectKey{policyKind, name})
				delete(current, objectKey{bindingKind, name})
			}
		}
	}
	var validating []admissionregistrationv1.ValidatingWebhook
	var mutating []admissionregistrationv1.MutatingWebhook
	for _, w := range d.Webhooks {
		if !w.Undecided || len(caBundle) == 0 {
			continue
		}
		if c, ok := current[objectKey{mutatingKind, WebhookConfigurationName}].(*admissionregistrationv1.MutatingWebhookConfiguration); ok && w.Mutating {
			if i := slices.IndexFunc(c.Webhooks, func(m admissionregistrationv1.MutatingWebhook) bool { return m.Name == w.Name }); i >= 0 {
				have := *c.Webhooks[i].DeepCopy()
				have.ClientConfig = clientConfig(w.Path, endpoint, caBundle)
				mutating = append(mutating, have)
			}
		}
		if c, ok := current[objectKey{validatingKind, WebhookConfigurationName}].(*admissionregistrationv1.ValidatingWebhookConfiguration); ok && !w.Mutating {
			if i := slices.IndexFunc(c.Webhooks, func(v admissionregistrationv1.ValidatingWebhook) bool { return v.Name == w.Name }); i >= 0 {
				have := *c.Webhooks[i].DeepCopy()
				have.ClientConfig = clientConfig(w.Path, endpoint, caBundle)
				validating = append(validating, have)
			}
		}
	}
	return withWebhooks(desired, validating, mutating, anchor)
}

// withWebhooks adds webhooks to what is desired, without changing that.
func withWebhooks(
	desired []client.Object, validating []admissionregistrationv1.ValidatingWebhook, mutating []admissionregistrationv1.MutatingWebhook, anchor types.UID,
) []client.Object {
	if len(validating)+len(mutating) == 0 {
		return desired
	}
	out := make([]client.Object, 0, len(desired)+2)
	for _, o := range desired {
		switch c := o.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			validating = append(slices.Clone(c.Webhooks), validating...)
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			mutating = append(slices.Clone(c.Webhooks), mutating...)
		default:
			out = append(out, o)
		}
	}
	return append(out, renderConfigurations(validating, mutating, anchor)...)
}
