// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

func samplePolicy(mode configv1alpha1.Mode) Policy {
	return Policy{
		Name: "holdfast-sample",
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{}}},
			Validations:      []admissionregistrationv1.Validation{{Expression: "true"}},
		},
	}
}

func sampleWebhook(mode configv1alpha1.Mode) Webhook {
	return Webhook{Name: "sample.holdfast.dev", Mode: mode, Path: "/sample", Spec: admissionregistrationv1.ValidatingWebhook{
		Rules: []admissionregistrationv1.RuleWithOperations{{}},
	}}
}

func mutating(w Webhook) Webhook {
	w.Name, w.Mutating = "mutating."+w.Name, true
	return w
}

func names(objects []client.Object) (out []string) {
	for _, o := range objects {
		out = append(out, kindOf(o)+"/"+o.GetName())
	}
	return out
}

func TestRender_whatIsWritten(t *testing.T) {
	t.Parallel()
	service := Endpoint{Service: types.NamespacedName{Namespace: "holdfast-system", Name: "holdfast-guard"}, Port: 443}
	tests := []struct {
		name     string
		declared Declaration
		ca       string
		want     []string
	}{
		{name: "nothing declared is nothing written", ca: "ca"},
		{
			name: "a policy comes with its binding", declared: Declaration{Policies: []Policy{samplePolicy(configv1alpha1.ModeAudit)}},
			want: []string{"ValidatingAdmissionPolicy/holdfast-sample", "ValidatingAdmissionPolicyBinding/holdfast-sample"},
		},
		{name: "a policy that is off is not written", declared: Declaration{Policies: []Policy{samplePolicy(configv1alpha1.ModeOff)}}},
		{
			name: "a webhook is written once there is a certificate", declared: Declaration{Webhooks: []Webhook{sampleWebhook(configv1alpha1.ModeEnforce)}}, ca: "ca",
			want: []string{"ValidatingWebhookConfiguration/holdfast-guard"},
		},
		{name: "a webhook is not written without a certificate", declared: Declaration{Webhooks: []Webhook{sampleWebhook(configv1alpha1.ModeEnforce)}}},
		{
			name:     "mutating webhooks have a configuration of their own, before the other",
			declared: Declaration{Webhooks: []Webhook{sampleWebhook(configv1alpha1.ModeEnforce), mutating(sampleWebhook(configv1alpha1.ModeEnforce))}}, ca: "ca",
			want: []string{"MutatingWebhookConfiguration/holdfast-guard", "ValidatingWebhookConfiguration/holdfast-guard"},
		},
		{name: "a mutating webhook that is off is not written", declared: Declaration{Webhooks: []Webhook{mutating(sampleWebhook(configv1alpha1.ModeOff))}}, ca: "ca"},
		{name: "a webhook that is off is not written", declared: Declaration{Webhooks: []Webhook{sampleWebhook(configv1alpha1.ModeOff)}}, ca: "ca"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := render(tt.declared, "uid", service, []byte(tt.ca))
			if diff := cmp.Diff(tt.want, names(got)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			for _, o := range got {
				if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != "uid" || refs[0].Name != AnchorName {
					t.Errorf("%s is owned by %v, want the anchor", o.GetName(), refs)
				}
			}
		})
	}
}

func TestRender_reachesTheWebhook(t *testing.T) {
	t.Parallel()
	declared := []Webhook{sampleWebhook(configv1alpha1.ModeEnforce)}
	tests := []struct {
		name     string
		endpoint Endpoint
		want     string
	}{
		{name: "by Service in the cluster", endpoint: Endpoint{Service: types.NamespacedName{Namespace: "ns", Name: "svc"}, Port: 443}, want: "ns/svc:443/sample"},
		{name: "by URL from another API server", endpoint: Endpoint{URL: "https://host:9443", Service: types.NamespacedName{Name: "svc"}}, want: "https://host:9443/sample"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			validating, _ := renderWebhooks(declared, tt.endpoint, []byte("ca"))
			c := validating[0].ClientConfig
			got := ""
			if c.URL != nil {
				got = *c.URL
			} else {
				got = c.Service.Namespace + "/" + c.Service.Name + ":443" + *c.Service.Path
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("address (-want +got):\n%s", diff)
			}
		})
	}
}

// A field that the API server would fill in differs for ever from what is read.
func TestRender_aMutatingWebhookSaysEverything(t *testing.T) {
	t.Parallel()
	w := mutating(sampleWebhook(configv1alpha1.ModeEnforce))
	w.Spec.FailurePolicy = new(admissionregistrationv1.Ignore)
	w.Spec.SideEffects = new(admissionregistrationv1.SideEffectClassNone)
	w.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "n", Expression: "true"}}
	_, got := renderWebhooks([]Webhook{w}, Endpoint{URL: "https://h"}, []byte("ca"))
	want := []admissionregistrationv1.MutatingWebhook{{
		Name:         "mutating.sample.holdfast.dev",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://h/sample"), CABundle: []byte("ca")},
		Rules: []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{
			Scope: new(admissionregistrationv1.AllScopes),
		}}},
		FailurePolicy: new(admissionregistrationv1.Ignore), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects:       new(admissionregistrationv1.SideEffectClassNone),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "n", Expression: "true"}},
		TimeoutSeconds:  new(int32(10)), AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy: new(admissionregistrationv1.NeverReinvocationPolicy),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	const deny, warn, audit = admissionregistrationv1.Deny, admissionregistrationv1.Warn, admissionregistrationv1.Audit
	tests := []struct {
		mode     configv1alpha1.Mode
		warnOnly bool
		want     []admissionregistrationv1.ValidationAction
	}{
		{mode: configv1alpha1.ModeEnforce, want: []admissionregistrationv1.ValidationAction{deny, audit}},
		{mode: configv1alpha1.ModeEnforce, warnOnly: true, want: []admissionregistrationv1.ValidationAction{warn, audit}},
		{mode: configv1alpha1.ModeWarn, want: []admissionregistrationv1.ValidationAction{warn, audit}},
		{mode: configv1alpha1.ModeWarn, warnOnly: true, want: []admissionregistrationv1.ValidationAction{warn, audit}},
		{mode: configv1alpha1.ModeAudit, want: []admissionregistrationv1.ValidationAction{audit}},
		{mode: configv1alpha1.ModeAudit, warnOnly: true, want: []admissionregistrationv1.ValidationAction{audit}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Actions(tt.mode, tt.warnOnly)); diff != "" {
			t.Errorf("%s, warnOnly=%t (-want +got):\n%s", tt.mode, tt.warnOnly, diff)
		}
	}
}

// A difference that same does not see is one that is never healed.
func TestSame_seesEveryChange(t *testing.T) {
	t.Parallel()
	declared := Declaration{
		Policies: []Policy{samplePolicy(configv1alpha1.ModeEnforce)},
		Webhooks: []Webhook{sampleWebhook(configv1alpha1.ModeEnforce), mutating(sampleWebhook(configv1alpha1.ModeEnforce))},
	}
	fresh := func() []client.Object { return render(declared, "uid", Endpoint{URL: "https://h"}, []byte("ca")) }
	policy := func(o client.Object) *admissionregistrationv1.ValidatingAdmissionPolicy {
		return o.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	}
	tests := []struct {
		name   string
		object int
		change func(client.Object)
	}{
		{name: "a label gone", object: 0, change: func(o client.Object) { o.SetLabels(nil) }},
		{name: "another owner", object: 0, change: func(o client.Object) { o.SetOwnerReferences(nil) }},
		{name: "a condition more", object: 0, change: func(o client.Object) {
			policy(o).Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "n", Expression: "false"}}
		}},
		{name: "a selector narrowed", object: 0, change: func(o client.Object) {
			policy(o).Spec.MatchConstraints.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}},
		{name: "a failure policy opened", object: 0, change: func(o client.Object) {
			*policy(o).Spec.FailurePolicy = admissionregistrationv1.Ignore
		}},
		{name: "a binding weakened", object: 1, change: func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.ValidationActions = Actions(configv1alpha1.ModeAudit, false)
		}},
		{name: "a mutating webhook emptied", object: 2, change: func(o client.Object) {
			o.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks = nil
		}},
		{name: "a webhook emptied", object: 3, change: func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks = nil
		}},
		{name: "another authority", object: 3, change: func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks[0].ClientConfig.CABundle = []byte("other")
		}},
	}
	for i, o := range fresh() {
		if !same(fresh()[i], o) {
			t.Errorf("%s differs from itself", o.GetName())
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changed := fresh()[tt.object]
			tt.change(changed)
			if same(fresh()[tt.object], changed) {
				t.Error("the change is not seen")
			}
		})
	}
}

func TestRender_putsTheScopeIntoThePolicy(t *testing.T) {
	t.Parallel()
	s, err := scope.Compile(configv1alpha1.Scope{Namespaces: []string{"team-*", "!team-x"}})
	if err != nil {
		t.Fatal(err)
	}
	p := samplePolicy(configv1alpha1.ModeEnforce)
	p.Scope = s.Selection()
	got := renderPolicy(p, "uid").Spec
	if diff := cmp.Diff(p.Scope.NamespaceSelector, got.MatchConstraints.NamespaceSelector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.Scope.MatchConditions, got.MatchConditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
