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
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// PolicyName is the name of the policy that Policy makes.
const PolicyName = "holdfast-claims"

// Policy refuses every update of a Namespace, through any of its endpoints, that binds claims to it or changes claims that
// are bound to it, unless one of users sends it: the guard and the sync. It holds while Holdfast is down. A user with the
// verb unprotect may remove the annotation, for the case that it cannot be read or Holdfast is gone; then each RootSync
// claims again.
//
// A CREATE is never refused: the API server generates the UID after it got the request, so claims are not bound to the
// new Namespace. Selectors do not match annotations, so the policy evaluates every update of a Namespace.
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
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"*"},
							Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"},
						},
					},
				}},
			},
			Variables: []admissionregistrationv1.Variable{
				{Name: "old", Expression: value("oldObject")},
				{Name: "new", Expression: value("object")},
				admission.MayUnprotect(),
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.new == variables.old || !(" + ownership.Bound("oldObject") + " || " + ownership.Bound("object") + ") || request.userInfo.?username.orValue('') in " + cel.Strings(users) +
					" || variables.new == '' && variables.mayUnprotect",
				Message: fmt.Sprintf("the annotation %s is written by Holdfast alone: keep it as it is when you change the Namespace. "+
					"Taking it away needs the RBAC verb %q on %s.%s, cluster-wide",
					v1alpha1.ClaimsAnnotation, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName),
			}},
		},
	}
}
