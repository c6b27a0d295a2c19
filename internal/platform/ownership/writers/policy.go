// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writers sees to it that nobody but Holdfast writes claims on namespaces.
package writers

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// PolicyName is the name of the policy that Policy makes.
const PolicyName = "holdfast-claims"

// Policy lets these users alone, the identities of the guard and of the sync, set
// or change the annotation with the claims, on every path that changes the
// metadata of a Namespace. It holds while Holdfast is down. Who may unprotect may
// take the annotation away as a whole, so that there is a way when it cannot be
// read or Holdfast is gone; what marks do not say is then claimed anew.
//
// No selector finds an annotation, so this looks at each write of a Namespace.
// What leaves the annotation as it is passes.
func Policy(mode configv1alpha1.Mode, users []string) admission.Policy {
	value := func(object string) string {
		return object + ".metadata.?annotations[" + cel.String(v1alpha1.ClaimsAnnotation) + "].orValue('')"
	}
	return admission.Policy{
		Name: PolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"*"},
							Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"},
						},
					},
				}},
			},
			Variables: []admissionregistrationv1.Variable{
				{Name: "old", Expression: "request.operation == 'UPDATE' ? " + value("oldObject") + " : ''"},
				{Name: "new", Expression: value("object")},
				admission.MayUnprotect(),
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.new == variables.old || request.userInfo.?username.orValue('') in " + cel.Strings(users) +
					" || variables.new == '' && variables.mayUnprotect",
				Message: fmt.Sprintf("the annotation %s is written by Holdfast alone; leave it out, and write it back as it was when you change the Namespace. "+
					"Taking it away needs the RBAC verb %q on %s.%s, cluster-wide",
					v1alpha1.ClaimsAnnotation, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName),
			}},
		},
	}
}
