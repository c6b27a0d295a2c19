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
	if len(caBundle) == 0 {
		return desired
	}
	for _, w := range d.Webhooks {
		if !w.Undecided {
			continue
		}
		at := clientConfig(w.Path, endpoint, caBundle)
		validating = append(validating, standing(current, w, at)...)
		mutating = append(mutating, standingMutating(current, w, at)...)
	}
	return withWebhooks(desired, validating, mutating, anchor)
}

// standing is a validating webhook as it stands, if it does.
func standing(current map[objectKey]client.Object, w Webhook, at admissionregistrationv1.WebhookClientConfig) (out []admissionregistrationv1.ValidatingWebhook) {
	c, ok := current[objectKey{validatingKind, WebhookConfigurationName}].(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok || w.Mutating {
		return nil
	}
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == w.Name {
			out = append(out, *c.Webhooks[i].DeepCopy())
			out[0].ClientConfig = at
		}
	}
	return out
}

// standingMutating is the same of a mutating one.
func standingMutating(current map[objectKey]client.Object, w Webhook, at admissionregistrationv1.WebhookClientConfig) (out []admissionregistrationv1.MutatingWebhook) {
	c, ok := current[objectKey{mutatingKind, WebhookConfigurationName}].(*admissionregistrationv1.MutatingWebhookConfiguration)
	if !ok || !w.Mutating {
		return nil
	}
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == w.Name {
			out = append(out, *c.Webhooks[i].DeepCopy())
			out[0].ClientConfig = at
		}
	}
	return out
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
