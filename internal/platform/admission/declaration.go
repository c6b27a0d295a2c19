// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Declaration is all that Holdfast wants to have in the API server.
type Declaration struct {
	Policies []Policy
	Webhooks []Webhook
}

// Policy is a ValidatingAdmissionPolicy and its binding, which carry the same
// name; a second binding, for Echo, has EchoSuffix behind it.
type Policy struct {
	// Name begins with "holdfast-"; users see it in a refusal.
	Name string
	// Mode becomes the binding's validationActions; a policy that is off is not
	// written at all.
	Mode configv1alpha1.Mode
	// Undecided leaves what stands of the policy as it is, also if nothing does: what
	// it should say is not known yet. All but Name is ignored.
	Undecided bool
	// WarnOnly keeps Enforce at a warning.
	WarnOnly bool
	// Echo selects objects for which a refusal is sent as a warning too, for
	// clients that do not show the error that they get. Users of other clients see
	// the text twice.
	Echo *metav1.LabelSelector
	// Scope is where the policy holds; the zero value is everywhere.
	Scope scope.Selection
	// Spec needs resource rules and validations. What it leaves open is filled
	// in: the policy fails closed, a rule has every scope, and a validation
	// without a reason is Forbidden.
	Spec admissionregistrationv1.ValidatingAdmissionPolicySpec
}

// HelmRelease selects objects of Helm releases, for Policy.Echo: "helm uninstall" does not show the error that it gets, but
// client-go prints warnings.
func HelmRelease() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}}
}

// Webhook is one webhook: a validating one, unless it says otherwise.
type Webhook struct {
	// Name is what the API server shows when it cannot reach the webhook, so it
	// is a hint for whoever reads that: three labels separated by dots.
	Name string
	// Mode of the webhook. The handler must act on Audit and Warn itself; a
	// webhook that is off is not written.
	Mode configv1alpha1.Mode
	// Mutating says that the webhook changes objects. It is then asked before all
	// policies and validating webhooks, and not again after other mutating ones.
	Mutating bool
	// Undecided leaves what stands of the webhook as it is, also if nothing does. All
	// but Name, Mutating, Path and Handler is ignored.
	Undecided bool
	// Path at which Handler is served.
	Path string
	// Handler answers.
	Handler http.Handler
	// Scope is where the webhook is called; the zero value is everywhere.
	Scope scope.Selection
	// Spec needs rules, a failure policy and side effects. Name, client
	// configuration and scope are filled in. A mutating webhook has the same fields.
	Spec admissionregistrationv1.ValidatingWebhook
}
