// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

const (
	// AnchorName is the ClusterRole that owns every admission object.
	AnchorName = v1alpha1.AnchorName
	// WebhookConfigurationName is that of the only validating webhook configuration,
	// and of the only mutating one.
	WebhookConfigurationName = "holdfast-guard"
	// ManagedByLabel marks what this package writes, with ManagedByValue.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedByValue is the value of ManagedByLabel.
	ManagedByValue = "holdfast"

	webhookTimeoutSeconds = 10
)

// Endpoint is where the API server reaches the webhooks: a Service, or a URL
// where the API server is one that Holdfast does not run in.
type Endpoint struct {
	// URL without a path, such as https://127.0.0.1:9443; it goes before Service.
	URL string
	// Service and its port.
	Service types.NamespacedName
	Port    int32
}

// render makes the API objects of a declaration, with every field that the API
// server would default spelled out, so that what is read back can be compared
// as a whole. Without a CA bundle no webhook is written: the API server could
// not call it.
func render(d Declaration, anchor types.UID, endpoint Endpoint, caBundle []byte) []client.Object {
	var out []client.Object
	for _, p := range d.Policies {
		if p.Mode == configv1alpha1.ModeOff || p.Undecided {
			continue
		}
		out = append(out, renderPolicy(p, anchor), renderBinding(p, anchor))
		if p.Echo != nil && p.Mode == configv1alpha1.ModeEnforce && !p.WarnOnly {
			out = append(out, renderEcho(p, anchor))
		}
	}
	validating, mutating := renderWebhooks(d.Webhooks, endpoint, caBundle)
	return append(out, renderConfigurations(validating, mutating, anchor)...)
}

// renderConfigurations makes the objects that webhooks stand in.
func renderConfigurations(
	validating []admissionregistrationv1.ValidatingWebhook, mutating []admissionregistrationv1.MutatingWebhook, anchor types.UID,
) (out []client.Object) {
	if len(mutating) > 0 { // before the others: see Published
		out = append(out, &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: objectMeta(WebhookConfigurationName, anchor),
			Webhooks:   mutating,
		})
	}
	if len(validating) > 0 {
		out = append(out, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: objectMeta(WebhookConfigurationName, anchor),
			Webhooks:   validating,
		})
	}
	return out
}

func objectMeta(name string, anchor types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{ManagedByLabel: ManagedByValue},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: rbacv1.SchemeGroupVersion.String(),
			Kind:       "ClusterRole",
			Name:       AnchorName,
			UID:        anchor,
		}},
	}
}

func renderPolicy(p Policy, anchor types.UID) *admissionregistrationv1.ValidatingAdmissionPolicy {
	spec := *p.Spec.DeepCopy()
	if spec.FailurePolicy == nil {
		spec.FailurePolicy = ptr.To(admissionregistrationv1.Fail)
	}
	m := spec.MatchConstraints
	if m.MatchPolicy == nil {
		m.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	m.NamespaceSelector = namespaceSelector(p.Scope)
	for i := range m.ResourceRules {
		defaultScope(&m.ResourceRules[i].Rule)
	}
	for i := range spec.Validations {
		if spec.Validations[i].Reason == nil {
			spec.Validations[i].Reason = ptr.To(metav1.StatusReasonForbidden)
		}
	}
	spec.MatchConditions = slices.Concat(p.Scope.MatchConditions, spec.MatchConditions)
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: objectMeta(p.Name, anchor),
		Spec:       spec,
	}
}

func renderBinding(p Policy, anchor types.UID) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: objectMeta(p.Name, anchor),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        p.Name,
			ValidationActions: Actions(p.Mode, p.WarnOnly),
		},
	}
}

// EchoSuffix ends the name of the binding for Policy.Echo.
const EchoSuffix = "-echo"

func renderEcho(p Policy, anchor types.UID) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: objectMeta(p.Name+EchoSuffix, anchor),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        p.Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn},
			MatchResources: &admissionregistrationv1.MatchResources{
				MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
				NamespaceSelector: &metav1.LabelSelector{},
				ObjectSelector:    p.Echo.DeepCopy(),
			},
		},
	}
}

// Actions are the validationActions of a binding in a mode. Audit goes with
// every mode, so that the API server's audit log has each verdict.
func Actions(mode configv1alpha1.Mode, warnOnly bool) []admissionregistrationv1.ValidationAction {
	switch {
	case mode == configv1alpha1.ModeEnforce && !warnOnly:
		return []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny, admissionregistrationv1.Audit}
	case mode == configv1alpha1.ModeEnforce, mode == configv1alpha1.ModeWarn:
		return []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn, admissionregistrationv1.Audit}
	default:
		return []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}
	}
}

func renderWebhooks(declared []Webhook, endpoint Endpoint, caBundle []byte) (
	validating []admissionregistrationv1.ValidatingWebhook, mutating []admissionregistrationv1.MutatingWebhook,
) {
	if len(caBundle) == 0 {
		return nil, nil
	}
	for _, w := range declared {
		if w.Mode == configv1alpha1.ModeOff || w.Undecided {
			continue
		}
		spec := renderWebhook(w, endpoint, caBundle)
		if w.Mutating {
			mutating = append(mutating, mutatingWebhook(spec))
		} else {
			validating = append(validating, spec)
		}
	}
	return validating, mutating
}

func renderWebhook(w Webhook, endpoint Endpoint, caBundle []byte) admissionregistrationv1.ValidatingWebhook {
	spec := *w.Spec.DeepCopy()
	spec.Name = w.Name
	spec.ClientConfig = clientConfig(w.Path, endpoint, caBundle)
	if spec.MatchPolicy == nil {
		spec.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
	}
	if spec.ObjectSelector == nil {
		spec.ObjectSelector = &metav1.LabelSelector{}
	}
	if spec.TimeoutSeconds == nil {
		spec.TimeoutSeconds = ptr.To[int32](webhookTimeoutSeconds)
	}
	if spec.AdmissionReviewVersions == nil {
		spec.AdmissionReviewVersions = []string{"v1"}
	}
	spec.NamespaceSelector = namespaceSelector(w.Scope)
	for i := range spec.Rules {
		defaultScope(&spec.Rules[i].Rule)
	}
	spec.MatchConditions = slices.Concat(w.Scope.MatchConditions, spec.MatchConditions)
	return spec
}

func mutatingWebhook(spec admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name: spec.Name, ClientConfig: spec.ClientConfig, Rules: spec.Rules,
		FailurePolicy: spec.FailurePolicy, MatchPolicy: spec.MatchPolicy, SideEffects: spec.SideEffects,
		NamespaceSelector: spec.NamespaceSelector, ObjectSelector: spec.ObjectSelector, MatchConditions: spec.MatchConditions,
		TimeoutSeconds: spec.TimeoutSeconds, AdmissionReviewVersions: spec.AdmissionReviewVersions,
		ReinvocationPolicy: ptr.To(admissionregistrationv1.NeverReinvocationPolicy),
	}
}

func clientConfig(path string, endpoint Endpoint, caBundle []byte) admissionregistrationv1.WebhookClientConfig {
	if endpoint.URL != "" {
		return admissionregistrationv1.WebhookClientConfig{URL: new(endpoint.URL + path), CABundle: caBundle}
	}
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{
			Namespace: endpoint.Service.Namespace,
			Name:      endpoint.Service.Name,
			Path:      new(path),
			Port:      new(endpoint.Port),
		},
		CABundle: caBundle,
	}
}

func namespaceSelector(s scope.Selection) *metav1.LabelSelector {
	if s.NamespaceSelector == nil {
		return &metav1.LabelSelector{}
	}
	return s.NamespaceSelector.DeepCopy()
}

func defaultScope(r *admissionregistrationv1.Rule) {
	if r.Scope == nil {
		r.Scope = ptr.To(admissionregistrationv1.AllScopes)
	}
}
