// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Policies are the rules of the deletion guard as the API server runs them. A
// policy selects objects by one label, because a selector cannot say "or";
// there is one for each rule and key.
func Policies(c configv1alpha1.DeletionConfiguration, where scope.Selection) []admission.Policy {
	rules := policy.NewRules(c)
	var out []admission.Policy
	for _, k := range rules.Keys {
		out = append(out, deletePolicy(rules, k))
		if k.Strict {
			out = append(out, unprotectPolicy(rules, k), bindPolicy(k))
		}
		out = append(out, valuePolicy(k), valueStandsPolicy(k))
	}
	for i := range out {
		out[i].Mode, out[i].Scope = c.Mode, where
	}
	return out
}

func deletePolicy(rules policy.Rules, k policy.Key) admission.Policy {
	validation := admissionregistrationv1.Validation{
		Expression: "has(oldObject.metadata.deletionTimestamp) || variables.derived && variables.machine",
		Message:    k.DeleteMessage(),
	}
	if strings.Contains(k.DeleteMessage(), policy.TargetPlace) {
		validation.MessageExpression = messageExpression(k.DeleteMessage())
		validation.Message = "This object is protected from deletion by the label " + k.Label
	}
	return admission.Policy{
		Name: k.PolicyName(policy.RuleDelete),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(protecting(k), rule("*", "*", admissionregistrationv1.Delete)),
			Variables:        slices.Concat(identity(rules), []admissionregistrationv1.Variable{derived("oldObject")}),
			Validations:      []admissionregistrationv1.Validation{validation},
		},
	}
}

// unprotectPolicy watches every way to write to an object, subresources
// included: /status of many kinds and namespaces/finalize take metadata too. A
// selector matches the object before or after the change.
func unprotectPolicy(rules policy.Rules, k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleUnprotect),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(existing(k), rule("*", "*/*", admissionregistrationv1.Update)),
			Variables: slices.Concat(identity(rules), []admissionregistrationv1.Variable{
				derived("oldObject"),
				value("old", "oldObject", k.Label),
				value("new", "object", k.Label),
				{Name: "free", Expression: "has(oldObject.metadata.deletionTimestamp) || !(" + protects("variables.old", k) + ")"},
				mayUnprotect(),
				value("madeBefore", "oldObject", policy.MadeByLabel),
				value("madeAfter", "object", policy.MadeByLabel),
				{Name: "gainsOwner", Expression: "variables.madeAfter != variables.madeBefore && variables.madeAfter != '' || " +
					"!object.metadata.?ownerReferences.orValue([]).all(n, " +
					"oldObject.metadata.?ownerReferences.orValue([]).exists(o, " +
					"o.uid == n.uid && o.name == n.name && o.kind == n.kind && o.apiVersion == n.apiVersion && " +
					"(o.?controller.orValue(false) || !n.?controller.orValue(false))))"},
			}),
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: fmt.Sprintf("variables.free || variables.new == variables.old || variables.new == %s || "+
						"variables.derived && variables.machine || variables.mayUnprotect", cel.String(v1alpha1.ProtectAlways)),
					Message: k.UnprotectMessage(),
				},
				{
					Expression: "variables.free || !(variables.kind in " + derivedKinds(false) + ") || variables.machine || " +
						"!variables.gainsOwner || variables.mayUnprotect",
					Message: k.OwnMessage(),
				},
			},
		},
	}
}

// bindPolicy watches the one CREATE that writes to an object that is there: a
// Binding's labels land on its pod.
func bindPolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleBind),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(existing(k),
				rule("", "pods/binding", admissionregistrationv1.Create),
				rule("", "bindings", admissionregistrationv1.Create)),
			Variables: []admissionregistrationv1.Variable{value("new", "object", k.Label), mayUnprotect()},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.new == " + cel.String(v1alpha1.ProtectAlways) + " || variables.mayUnprotect",
				Message:    k.BindMessage(),
			}},
		},
	}
}

func valuePolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleValue),
		Spec: valueSpec(k, "variables.known || variables.stands || variables.controlled || variables.elsewhere", k.ValueMessage()),
	}
}

func valueStandsPolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name:     k.PolicyName(policy.RuleValueStands),
		WarnOnly: true,
		Spec:     valueSpec(k, "variables.known || !variables.stands && !variables.controlled && !variables.elsewhere", k.ValueStandsMessage()),
	}
}

func valueSpec(k policy.Key, expression, message string) admissionregistrationv1.ValidatingAdmissionPolicySpec {
	return admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match(
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: k.Label, Operator: metav1.LabelSelectorOpExists},
				{Key: k.Label, Operator: metav1.LabelSelectorOpNotIn, Values: append([]string{""}, k.Values...)},
			}},
			rule("*", "*", admissionregistrationv1.Create, admissionregistrationv1.Update)),
		Variables: []admissionregistrationv1.Variable{
			value("new", "object", k.Label),
			{Name: "known", Expression: "variables.new in " + cel.Strings(append([]string{""}, k.Values...))},
			{Name: "stands", Expression: "request.operation == 'UPDATE' && " +
				labelValue("oldObject", k.Label) + " == variables.new"},
			{Name: "elsewhere", Expression: "variables.new in " + cel.Strings(k.Elsewhere)},
			{Name: "controlled", Expression: controlled("object")},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: message}},
	}
}

func match(objects *metav1.LabelSelector, rules ...admissionregistrationv1.NamedRuleWithOperations) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ObjectSelector: objects, ResourceRules: rules}
}

func rule(group, resource string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
	return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource},
		},
	}}
}

// existing selects objects that carry the label, whatever its value.
func existing(k policy.Key) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: k.Label, Operator: metav1.LabelSelectorOpExists},
	}}
}

// protecting selects objects that the label protects, as Key.Protects does.
func protecting(k policy.Key) *metav1.LabelSelector {
	if !k.AnyValue {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: k.Label, Operator: metav1.LabelSelectorOpIn, Values: []string{v1alpha1.ProtectAlways}},
		}}
	}
	selector := existing(k)
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: k.Label, Operator: metav1.LabelSelectorOpNotIn, Values: []string{""},
	})
	return selector
}

// protects is Key.Protects for a CEL value.
func protects(value string, k policy.Key) string {
	if k.AnyValue {
		return value + " != ''"
	}
	return value + " == " + cel.String(v1alpha1.ProtectAlways)
}

// value makes a variable of a label's value.
func value(name, object, label string) admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{Name: name, Expression: labelValue(object, label)}
}

func labelValue(object, label string) string {
	return object + ".metadata.?labels[" + cel.String(label) + "].orValue('')"
}

// identity makes the variables kind, as "group/resource", and machine, which
// says whether a controller asks and not a person.
func identity(rules policy.Rules) []admissionregistrationv1.Variable {
	users := slices.Concat(policy.ClusterControllers, rules.WorkloadControllers)
	return []admissionregistrationv1.Variable{
		{Name: "kind", Expression: "request.resource.group + '/' + request.resource.resource"},
		{Name: "user", Expression: "request.userInfo.?username.orValue('')"},
		{Name: "machine", Expression: "variables.user in " + cel.Strings(users) +
			" || variables.kind == '/pods' && variables.user.startsWith(" + cel.String(policy.KubeletUserPrefix) + ")"},
	}
}

// derived makes the variable derived: whether controllers make and delete the
// object all the time.
func derived(object string) admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "derived",
		Expression: "variables.kind in " + derivedKinds(true) +
			" ? " + labelValue(object, policy.MadeByLabel) + " == " + cel.String(policy.MadeByValue) +
			" : variables.kind in " + derivedKinds(false) + " && " + controlled(object),
	}
}

// derivedKinds is a CEL list of policy.DerivedKinds; with unowned only of those
// whose objects have no owner.
func derivedKinds(unowned bool) string {
	var kinds []string
	for _, d := range policy.DerivedKinds {
		if d.Unowned || !unowned {
			kinds = append(kinds, d.Group+"/"+d.Resource)
		}
	}
	return cel.Strings(kinds)
}

func controlled(object string) string {
	return object + ".metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
}

// mayUnprotect asks the authorizer. The namespace is the one that
// policy.UnprotectNamespace names; an empty one asks cluster-wide.
func mayUnprotect() admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "mayUnprotect",
		Expression: fmt.Sprintf("authorizer.group(%s).resource(%s)"+
			".namespace(request.resource.group == '' && request.resource.resource == 'namespaces' ? '' : request.?namespace.orValue(''))"+
			".check(%s).allowed()",
			cel.String(v1alpha1.GroupName), cel.String(v1alpha1.UnprotectResource), cel.String(v1alpha1.UnprotectVerb)),
	}
}

// messageExpression writes a message with places for the object as CEL.
func messageExpression(message string) string {
	target := "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group) + '/' + oldObject.metadata.name"
	namespace := "(has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : '')"
	var parts []string
	for message != "" {
		i, place, expression := len(message), "", ""
		for p, e := range map[string]string{policy.TargetPlace: target, policy.NamespacePlace: namespace} {
			if j := strings.Index(message, p); j >= 0 && j < i {
				i, place, expression = j, p, e
			}
		}
		if i > 0 {
			parts = append(parts, cel.String(message[:i]))
		}
		if place != "" {
			parts = append(parts, expression)
		}
		message = message[i+len(place):]
	}
	return strings.Join(parts, " + ")
}
