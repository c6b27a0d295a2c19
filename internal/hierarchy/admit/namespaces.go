// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// namespacesPolicy guards the labels that say whether a namespace is managed and where it stands, and the annotation that
// says of which namespace it is a subnamespace, in every namespace, the excluded ones too: it prevents abuse. It judges only
// what a request changes, so that what is wrong already keeps no user from writing the rest, or from ending the namespace.
func namespacesPolicy(o PolicyOptions) admission.Policy {
	const (
		included, excluded = hncv1alpha2.LabelIncludedNamespace, hncv1alpha2.LabelExcludedNamespace
		mark               = v1alpha1.HasSubnamespacesMark
	)
	about := func(text, label string) string { return message(text, "variables.name", cel.String(label)) }
	return admission.Policy{
		Name: NamespacesPolicyName,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: named(
				rule("", []string{"namespaces"}, admissionregistrationv1.Create, admissionregistrationv1.Update),
				rule("", []string{"namespaces/status", "namespaces/finalize"}, admissionregistrationv1.Update),
			)},
			MatchConditions: []admissionregistrationv1.MatchCondition{notBy(o.Users)},
			Variables:       namespaceVariables(o),
			Validations: []admissionregistrationv1.Validation{
				{
					Expression:        same(included) + " || variables.managed || !(" + cel.String(included) + " in variables.after)",
					MessageExpression: about(rules.TextNotIncluded, included),
					Message:           "only namespaces that are managed can have the label " + included,
				},
				{
					Expression:        same(included) + " || !variables.managed || variables.after[?" + cel.String(included) + "].orValue('') == " + cel.String(hncv1alpha2.ValueTrue),
					MessageExpression: about(rules.TextIncluded, included),
					Message:           `namespaces that are managed must have "true" in the label ` + included,
				},
				{
					Expression:        same(excluded) + " || !(" + cel.String(excluded) + " in variables.after) || variables.name in " + cel.Strings(o.Settings.ExcludedNames()),
					MessageExpression: about(rules.TextNotExcluded, excluded),
					Message:           "only namespaces in the list of those that are excluded can have the label " + excluded,
				},
				{
					Expression:        "!variables.managed || !variables.becomesExternal || variables.parent == ''",
					MessageExpression: message(rules.TextExternal, "variables.name", "variables.parent"),
					Message:           "a namespace that has a parent cannot be managed by somebody else",
				},
				{
					Expression:        "size(variables.changed) == 0",
					MessageExpression: message(rules.TextTreeLabels, "variables.changed.join(', ')"),
					Message:           "labels that say where a namespace stands cannot be changed",
				},
				{
					Expression:        "!variables.moves || variables.becomes == '' || " + mayChangeTree("variables.becomes"),
					MessageExpression: message(rules.TextNoRight, "variables.becomes"),
					Message:           noRight,
				},
				{
					Expression:        "!variables.moves || variables.root == '' || " + mayChangeTree("variables.root"),
					MessageExpression: message(rules.TextNoRight, "variables.root"),
					Message:           noRight,
				},
				{
					Expression: same(mark),
					Message:    "the label " + mark + " is written by Holdfast alone",
				},
			},
		},
	}
}

const noRight = "this changes a tree of namespaces, and you may not update hierarchyconfigurations.hnc.x-k8s.io there"

// mayChangeTree is in CEL what mayChange asks.
func mayChangeTree(namespace string) string {
	return "authorizer.group(" + cel.String(hncv1alpha2.GroupName) + ").resource(" + cel.String(hncv1alpha2.ResourceHierarchyConfigurations) +
		").namespace(" + namespace + ").check('update').allowed()"
}

// same says that a label is as it was.
func same(label string) string {
	return "variables.after[?" + cel.String(label) + "] == variables.before[?" + cel.String(label) + "]"
}

func namespaceVariables(o PolicyOptions) []admissionregistrationv1.Variable {
	suffix := cel.String(hncv1alpha2.LabelTreeDepthSuffix)
	external := func(object string) string {
		return "!(" + annotation(object, hncv1alpha2.AnnotationManagedBy) + " in " + cel.Strings([]string{"", hncv1alpha2.GroupName}) + ")"
	}
	return []admissionregistrationv1.Variable{
		// A name that the API server makes up is not in the request, but in the object.
		{Name: "name", Expression: "object.metadata.name"},
		{Name: "managed", Expression: o.Settings.Where.NameExpression("variables.name")},
		{Name: "before", Expression: "request.operation == 'UPDATE' ? " + labels("oldObject") + " : {}"},
		{Name: "after", Expression: labels("object")},
		{Name: "becomesExternal", Expression: "request.operation == 'UPDATE' && " + external("object") + " && !(" + external("oldObject") + ")"},
		{Name: "above", Expression: "variables.before.filter(k, k.endsWith(" + suffix + ") && k != variables.name + " + suffix + ")"},
		// The nearest ancestor has a 1 in its label. Until the labels are written a
		// subnamespace has its annotation.
		{Name: "nearest", Expression: "variables.above.filter(k, variables.before[k] == '1')"},
		{Name: "parent", Expression: "size(variables.nearest) > 0 ? variables.nearest[0].replace(" + suffix + ", '') : " +
			"size(variables.above) > 0 ? variables.above[0].replace(" + suffix + ", '') : " +
			annotation("oldObject", hncv1alpha2.AnnotationSubnamespaceOf)},
		// A user who may update one Namespace, by a role in it, could move it into another tree by the annotation, and get what
		// is copied there, or out of its own, and lose what is copied, such as NetworkPolicies. So it needs the rights to change the parent.
		{Name: "becomes", Expression: annotation("object", hncv1alpha2.AnnotationSubnamespaceOf)},
		{Name: "moves", Expression: "variables.becomes != (request.operation == 'UPDATE' ? " +
			annotation("oldObject", hncv1alpha2.AnnotationSubnamespaceOf) + " : '')"},
		// The root has the greatest number in its label; a longer one is greater.
		{Name: "farthest", Expression: "variables.above.filter(k, variables.above.all(j, size(variables.before[j]) < size(variables.before[k]) || " +
			"size(variables.before[j]) == size(variables.before[k]) && variables.before[j] <= variables.before[k]))"},
		{Name: "root", Expression: "size(variables.farthest) > 0 ? variables.farthest[0].replace(" + suffix + ", '') : ''"},
		{Name: "changed", Expression: "variables.before.filter(k, k.contains(" + suffix + ") && variables.after[?k] != variables.before[?k]) + " +
			"variables.after.filter(k, k.contains(" + suffix + ") && !(k in variables.before))"},
	}
}

// uncheckedPolicy asks for a right of its own where a namespace that visibly stands in
// a tree is deleted by its annotation, past the webhook that would look at the tree.
func uncheckedPolicy(o PolicyOptions) admission.Policy {
	return admission.Policy{
		Name:  UncheckedPolicyName,
		Scope: o.Settings.Where.Selection(),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: named(
				rule("", []string{"namespaces"}, admissionregistrationv1.Delete),
			)},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				notBy(o.Users),
				{Name: "unchecked", Expression: unchecked},
				{Name: "in-a-tree", Expression: visibly("oldObject")},
			},
			Variables: []admissionregistrationv1.Variable{admission.MayUnprotect()},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.mayUnprotect",
				Message: fmt.Sprintf("the namespace stands in a tree, and the annotation %s has it deleted without a look at that; this needs the RBAC verb %q on %s.%s, cluster-wide",
					v1alpha1.DeleteUncheckedAnnotation, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName),
			}},
		},
	}
}

// unchecked says in CEL that a namespace is to be deleted without a look at its tree.
var unchecked = annotation("oldObject", v1alpha1.DeleteUncheckedAnnotation) + " == oldObject.metadata.name"
