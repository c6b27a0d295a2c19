// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"math"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// OverridePolicyName is the policy that pins who asks for an override and who
// consents to it.
const OverridePolicyName = "holdfast-deletion-override"

// overridePolicies pin who asks and who consents, and who writes that an override
// is in force. They refuse in every mode but Off: a name that can be faked is
// worth nothing, whatever the verdicts do.
func overridePolicies(c configv1alpha1.DeletionConfiguration, users []string) []admission.Policy {
	mode := configv1alpha1.ModeEnforce
	if c.Mode == configv1alpha1.ModeOff {
		mode = configv1alpha1.ModeOff
	}
	const (
		created  = "request.operation == 'CREATE'"
		status   = "request.?subResource.orValue('') == 'status'"
		consents = "(has(object.spec.approvedBy) ? object.spec.approvedBy : '')"
		before   = "(request.operation == 'UPDATE' && has(oldObject.spec.approvedBy) ? oldObject.spec.approvedBy : '')"
	)
	var mayUnprotect = fmt.Sprintf("authorizer.group(%s).resource(%s)"+
		".namespace(object.spec.target.?namespace.orValue('')).check(%s).allowed()",
		cel.String(v1alpha1.GroupName), cel.String(v1alpha1.UnprotectResource), cel.String(v1alpha1.UnprotectVerb))
	needs := fmt.Sprintf("the RBAC verb %q on %s.%s in the namespace of the target, or cluster-wide for a target without one",
		v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
	maximum := c.Overrides.MaxDuration.Duration

	validations := []admissionregistrationv1.Validation{
		{
			Expression:        "variables.status || !variables.created || object.spec.requestedBy == variables.user",
			MessageExpression: "'spec.requestedBy must be the name of whoever asks: ' + variables.user",
			Message:           "spec.requestedBy must be the name of whoever asks",
		},
		{
			Expression: fmt.Sprintf("variables.status || !variables.created || duration(object.spec.duration) <= duration('%ds')", int64(math.Ceil(maximum.Seconds()))),
			Message:    "spec.duration may be at most " + text.Duration(maximum),
		},
		{
			Expression: "variables.status || !variables.created || variables.consent == ''",
			Message:    "spec.approvedBy is set by whoever consents, once the override is there: kubectl holdfast override approve NAME",
		},
		{
			Expression:        "variables.status || variables.consent == variables.before || variables.consent == variables.user",
			MessageExpression: "'spec.approvedBy must be the name of whoever consents: ' + variables.user",
			Message:           "spec.approvedBy must be the name of whoever consents",
		},
		{
			Expression: "variables.status || variables.consent == variables.before || variables.consent != object.spec.requestedBy",
			Message:    "whoever asks for an override cannot consent to it; a second person must",
		},
		{
			Expression: "variables.status || variables.consent == variables.before || variables.mayUnprotect",
			Message:    "to consent to an override needs " + needs,
		},
		{
			Expression: "!variables.status || variables.user in " + cel.Strings(users),
			Message:    "the status of an override is written by Holdfast alone",
		},
	}
	if c.Overrides.Approval != configv1alpha1.ApprovalRequired {
		validations = append(validations, admissionregistrationv1.Validation{
			Expression: "variables.status || !variables.created || variables.mayUnprotect",
			Message:    "to ask for an override needs " + needs,
		})
	}
	return []admission.Policy{{
		Name: OverridePolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(nil,
				rule(v1alpha1.GroupName, "deletionoverrides", admissionregistrationv1.Create, admissionregistrationv1.Update),
				rule(v1alpha1.GroupName, "deletionoverrides/status", admissionregistrationv1.Update)),
			Variables: []admissionregistrationv1.Variable{
				{Name: "user", Expression: "request.userInfo.?username.orValue('')"},
				{Name: "created", Expression: created},
				{Name: "status", Expression: status},
				{Name: "consent", Expression: consents},
				{Name: "before", Expression: before},
				{Name: "mayUnprotect", Expression: mayUnprotect},
			},
			Validations: validations,
		},
	}}
}
