// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

func vap(name string, change ...func(*admissionregistrationv1.ValidatingAdmissionPolicySpec)) admissionregistrationv1.ValidatingAdmissionPolicy {
	p := admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, f := range change {
		f(&p.Spec)
	}
	return p
}

func binding(name string, actions ...admissionregistrationv1.ValidationAction) admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: actions},
	}
}

func TestReadEnforcement(t *testing.T) {
	t.Parallel()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
	got := readEnforcement(
		[]admissionregistrationv1.ValidatingAdmissionPolicy{
			vap("deny"),
			vap("warn", func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
				s.MatchConstraints = &admissionregistrationv1.MatchResources{NamespaceSelector: selector}
				s.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "scope-1"}}
			}),
			vap("unbound"),
		},
		[]admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			binding("deny", admissionregistrationv1.Deny, admissionregistrationv1.Audit),
			binding("warn", admissionregistrationv1.Warn, admissionregistrationv1.Audit),
			binding("without-policy", admissionregistrationv1.Deny),
		})
	want := enforcement{Installed: map[string]installedPolicy{
		"deny": {Mode: configv1alpha1.ModeEnforce},
		"warn": {Mode: configv1alpha1.ModeWarn, Namespaces: selector, Conditional: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The CLI reads modes out of what the manager writes for them.
func TestModeOf_isTheInverseOfActions(t *testing.T) {
	t.Parallel()
	for _, mode := range []configv1alpha1.Mode{configv1alpha1.ModeAudit, configv1alpha1.ModeWarn, configv1alpha1.ModeEnforce} {
		if got := modeOf(admission.Actions(mode, false)); got != mode {
			t.Errorf("got %s, want %s", got, mode)
		}
	}
	if got := modeOf(nil); got != configv1alpha1.ModeOff {
		t.Errorf("without actions: got %s", got)
	}
}

func TestEnforcement_rules(t *testing.T) {
	t.Parallel()
	name := func(r policy.Rule, label string) string { return keyOf(label).PolicyName(r) }
	tests := []struct {
		name      string
		problem   string
		installed []string
		want      map[string]bool // label: strict
	}{
		{"nothing installed", "", nil, map[string]bool{}},
		{"the strict label alone", "", []string{name(policy.RuleDelete, strictLabel)}, map[string]bool{strictLabel: true}},
		{
			"Karmada's label open, OpenKruise's not read", "",
			[]string{name(policy.RuleDelete, strictLabel), name(policy.RuleDelete, karmadaLabel)},
			map[string]bool{strictLabel: true, karmadaLabel: false},
		},
		{
			"Karmada's label strict", "",
			[]string{name(policy.RuleDelete, karmadaLabel), name(policy.RuleUnprotect, karmadaLabel)},
			map[string]bool{karmadaLabel: true},
		},
		{"not known", "forbidden", nil, map[string]bool{strictLabel: true, karmadaLabel: false, kruiseLabel: false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := enforcement{Problem: tt.problem, Installed: map[string]installedPolicy{}}
			for _, n := range tt.installed {
				e.Installed[n] = installedPolicy{Mode: configv1alpha1.ModeEnforce}
			}
			got := map[string]bool{}
			for _, k := range e.rules().Labels() {
				got[k.Label] = k.Strict
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
