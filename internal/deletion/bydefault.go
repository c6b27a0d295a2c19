// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// ByDefaultGate is the feature gate of protection by default: the question that
// seed 001 leaves for later.
const ByDefaultGate = "DeletionProtectionByDefault"

// byDefaultPolicies protect what a namespace declares: a Namespace with the label itself, and in it the objects of the kinds
// that its annotation lists. What a controller made is left to controllers, and giving an object a controller needs the right
// to unprotect. Changing the declaration needs that right cluster-wide, as everything that protects a Namespace.
func byDefaultPolicies(rules policy.Rules) []admission.Policy {
	label, always := cel.String(v1alpha1.ProtectByDefaultLabel), cel.String(v1alpha1.ProtectAlways)
	declared := func(object string) string {
		return object + ".metadata.?labels[" + label + "].orValue('') == " + always
	}
	listed := func(object string) string { return object + ".metadata.?annotations[" + label + "].orValue('')" }
	declaring := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.ProtectByDefaultLabel: v1alpha1.ProtectAlways}}

	objects := admission.Policy{
		Name: policy.ByDefaultPolicyName,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(nil, rule("*", "*", admissionregistrationv1.Delete), rule("*", "*/*", admissionregistrationv1.Update)),
			// No match condition says this: in those namespaceObject is always null.
			Variables: slices.Concat(identity(rules), ownership(), []admissionregistrationv1.Variable{
				admission.MayUnprotect(),
				derived(),
				word(),
				{Name: "kinds", Expression: listed("namespaceObject") + ".split(',').map(k, k.trim())"},
				{Name: "name", Expression: "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group)"},
				{Name: "elsewhere", Expression: "namespaceObject == null || !(" + declared("namespaceObject") + ") || has(oldObject.metadata.deletionTimestamp) || !(variables.name in variables.kinds)"},
			}),
			Validations: []admissionregistrationv1.Validation{{
				Expression: "request.operation != 'DELETE' || variables.elsewhere" +
					" || variables.derived && variables.machine || variables.preempts || " + controlled("oldObject") + " || " + released,
				MessageExpression: "variables.name + '/' + variables.word + ' is protected from deletion because its namespace declares that for its kind, by the annotation " +
					v1alpha1.ProtectByDefaultLabel + ". To let this one object go for a while: kubectl holdfast override ask ' + variables.name + '/' + variables.word + ' -n ' + request.namespace + ' --reason WHY'",
				Message: "this object is protected from deletion because its namespace declares that for its kind",
			}, {
				// Otherwise a user who may edit the object could take it out of the protection.
				Expression: "request.operation != 'UPDATE' || variables.elsewhere || variables.machine || !variables.gainsController || variables.mayUnprotect",
				Message: "this object is protected from deletion because its namespace declares that for its kind, and what has a controller is not; naming one needs the RBAC verb \"" +
					v1alpha1.UnprotectVerb + "\" on " + v1alpha1.UnprotectResource + "." + v1alpha1.GroupName,
			}},
		},
	}
	const (
		namespace = "'namespaces/' + oldObject.metadata.name + "
		holds     = " declares that what is in it is protected from deletion, by the label " + v1alpha1.ProtectByDefaultLabel +
			"; take the label away first, which needs the right to unprotect, or ask for an override that includes its contents"
		pinned = " declares what is protected from deletion in it; changing that needs the RBAC verb \"" +
			v1alpha1.UnprotectVerb + "\" on " + v1alpha1.UnprotectResource + "." + v1alpha1.GroupName + ", cluster-wide"
	)
	namespaces := admission.Policy{
		Name: policy.ByDefaultNamespacePolicyName,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(declaring,
				rule("", "namespaces", admissionregistrationv1.Update, admissionregistrationv1.Delete),
				rule("", "namespaces/status", admissionregistrationv1.Update),
				rule("", "namespaces/finalize", admissionregistrationv1.Update)),
			Variables: []admissionregistrationv1.Variable{
				admission.MayUnprotect(),
				{Name: "standing", Expression: declared("oldObject") + " && !has(oldObject.metadata.deletionTimestamp)"},
			},
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: "request.operation != 'DELETE' || !variables.standing || " +
						markValue("oldObject", v1alpha1.OverrideContentsMark) + " != '' || " + // else what is in it would keep it from ever ending
						markValue("oldObject", v1alpha1.OverrideMark) + " != '' && " + listed("oldObject") + ".trim() == ''",
					MessageExpression: namespace + cel.String(holds),
					Message:           "this namespace" + holds,
				},
				{
					Expression: "request.operation != 'UPDATE' || !variables.standing || variables.mayUnprotect || " +
						declared("object") + " && " + listed("object") + " == " + listed("oldObject"),
					MessageExpression: namespace + cel.String(pinned),
					Message:           "this namespace" + pinned,
				},
			},
		},
	}
	return []admission.Policy{objects, namespaces}
}
