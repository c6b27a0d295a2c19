// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"testing"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
)

// testTypes holds that the API server has nothing to say against the expressions. It
// checks no types where a rule is for all versions, so it is given a version too, and
// kinds with a schema and without.
func testTypes(t *testing.T, s *server) {
	for _, name := range []string{admit.CopiesPolicyName, admit.NamespacesPolicyName, admit.QuotasPolicyName, admit.UncheckedPolicyName} {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := s.Client.Get(t.Context(), client.ObjectKey{Name: name}, p); err != nil {
			t.Fatal(err)
		}
		typed := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "typed-" + name}, Spec: *p.Spec.DeepCopy()}
		for i := range typed.Spec.MatchConstraints.ResourceRules {
			r := &typed.Spec.MatchConstraints.ResourceRules[i]
			r.APIVersions = []string{"v1"}
			if r.APIGroups[0] == "hnc.x-k8s.io" {
				r.APIVersions = []string{"v1alpha2"}
			}
		}
		for _, p := range []*admissionregistrationv1.ValidatingAdmissionPolicy{p, typed} {
			for _, w := range s.warnings(t, p) {
				t.Errorf("%s, %s: %s", p.Name, w.FieldRef, w.Warning)
			}
		}
		if name != admit.CopiesPolicyName {
			continue
		}
		// What this is worth: without dyn an object with a schema has no fields to go over.
		wrong := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "wrong-" + name}, Spec: typed.Spec}
		wrong.Spec.Variables, wrong.Spec.Validations = nil, []admissionregistrationv1.Validation{{Expression: "object.all(f, f != '')"}}
		if len(s.warnings(t, wrong)) == 0 {
			t.Error("the API server does not check types")
		}
	}
}

// warnings are what the API server says of a policy, which is made if it is not there.
func (s *server) warnings(t *testing.T, p *admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning {
	t.Helper()
	if p.UID == "" {
		if err := s.Client.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	gomega.NewWithT(t).Eventually(func() bool {
		err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		return err == nil && p.Status.TypeChecking != nil && p.Status.ObservedGeneration == p.Generation
	}, "180s", "100ms").Should(gomega.BeTrue(), "%s is not looked at", p.Name)
	return p.Status.TypeChecking.ExpressionWarnings
}
