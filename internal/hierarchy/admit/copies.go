// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// copiesPolicy sees to it that nobody but Holdfast makes, changes or deletes a copy.
// The selector matches an object by its labels before and after the request, so that
// nothing else is looked at. A Scale has no labels: what is changed through it is put
// back.
//
// Status is anybody's, as with HNC. Controllers of the cluster also write annotations
// of their own, adopt, collect garbage, and empty namespaces that are being deleted.
// Nobody else gives a copy an owner, with which it would be collected.
func copiesPolicy(o PolicyOptions) admission.Policy {
	update := func(says string) string { return "request.operation != 'UPDATE' || " + says }
	from := func(text string) string { return message(text, "variables.from") }
	return admission.Policy{
		Name:  CopiesPolicyName,
		Scope: o.Settings.Where.Selection(),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: hncv1alpha2.LabelInheritedFrom, Operator: metav1.LabelSelectorOpExists},
				}},
				ResourceRules: named(copyRules(o)...),
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{notBy(o.Users)},
			Variables:       copyVariables(),
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: "request.operation != 'CREATE'",
					Message:    fmt.Sprintf(rules.TextCopyMade, hncv1alpha2.LabelInheritedFrom),
				},
				{
					Expression:        "request.operation != 'DELETE' || variables.ending || variables.collects",
					MessageExpression: from(rules.TextCopyDeleted),
					Message:           "this is a copy; delete what it was copied from",
				},
				{
					Expression: update("variables.sameSource"),
					Message:    fmt.Sprintf(rules.TextCopyLabel, hncv1alpha2.LabelInheritedFrom),
				},
				{
					Expression:        update("variables.sameLabels && variables.sameAnnotations && variables.sameContent && (variables.sameOwners || variables.controller)"),
					MessageExpression: from(rules.TextCopyChanged),
					Message:           "this is a copy; change what it was copied from",
				},
			},
		},
	}
}

// copyRules are about the objects and every subresource through which they can be
// written. The labels of a Binding, which is a CREATE, land on its pod.
func copyRules(o PolicyOptions) (out []admissionregistrationv1.RuleWithOperations) {
	groups, byGroup := copied(o.Resources)
	for _, g := range groups {
		var below []string
		for _, r := range byGroup[g] {
			below = append(below, r+"/*")
		}
		out = append(out,
			rule(g, byGroup[g], admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete),
			rule(g, below, admissionregistrationv1.Update))
	}
	if slices.Contains(byGroup[""], "pods") {
		out = append(out, rule("", []string{"pods/binding", "bindings"}, admissionregistrationv1.Create))
	}
	return out
}

// copyVariables are evaluated when they are asked for, so those that look at two
// objects may take both for granted.
func copyVariables() []admissionregistrationv1.Variable {
	key := cel.String(hncv1alpha2.LabelInheritedFrom)
	return []admissionregistrationv1.Variable{
		{Name: "from", Expression: "oldObject.metadata.?labels[" + key + "].orValue('')"},
		{Name: "ending", Expression: "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)"},
		{Name: "collects", Expression: user + " in " + cel.Strings([]string{controllerManager, namespaceController, garbageCollector})},
		{Name: "controller", Expression: controllers()},
		{Name: "sameSource", Expression: labels("object") + "[?" + key + "] == " + labels("oldObject") + "[?" + key + "]"},
		{Name: "sameLabels", Expression: labels("object") + " == " + labels("oldObject")},
		{Name: "before", Expression: annotations("oldObject")},
		{Name: "after", Expression: annotations("object")},
		{Name: "sameAnnotations", Expression: "variables.before == variables.after || variables.controller && " +
			"variables.before.all(k, " + ofCluster("k") + " || k in variables.after && variables.after[k] == variables.before[k]) && " +
			"variables.after.all(k, " + ofCluster("k") + " || k in variables.before)"},
		{Name: "sameOwners", Expression: owners("object") + ".all(n, " + owners("oldObject") + ".exists(o, o.uid == n.uid))"},
		{Name: "sameContent", Expression: sameFields("oldObject", "object") + " && dyn(object).all(f, " + beside("f") + " || f in dyn(oldObject))"},
	}
}

// sameFields compares all that is neither metadata nor status.
func sameFields(before, after string) string {
	return "dyn(" + before + ").all(f, " + beside("f") + " || f in dyn(" + after + ") && dyn(" + after + ")[f] == dyn(" + before + ")[f])"
}

func beside(field string) string {
	return field + " in ['apiVersion', 'kind', 'metadata', 'status']"
}
