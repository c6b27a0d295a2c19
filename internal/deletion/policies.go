// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/denials"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// PolicyOptions are what the policies are made from.
type PolicyOptions struct {
	Config configv1alpha1.DeletionConfiguration
	// Scope is where they hold.
	Scope scope.Selection
	// Users are the names under which Holdfast itself asks.
	Users []string
	// ByDefault turns on protection by default; see
	// v1alpha1.ProtectByDefaultLabel.
	ByDefault bool
	// Undecided leaves the installed policies as they are; see admission.Policy.
	Undecided bool
}

// Policies are the rules of the deletion guard, as the API server runs them:
// for each label one that refuses deletions, and those that see to it that
// protection is not taken away and that a value means something; for each mark
// one that refuses deletions.
func Policies(o PolicyOptions) []admission.Policy {
	rules := policy.NewRules(o.Config)
	var out []admission.Policy
	for _, k := range rules.Keys {
		out = append(out, deletePolicy(rules, k))
		switch k.Mark {
		case policy.MarkProtection, policy.MarkWhileUsed:
			out = append(out, selectedPolicy(rules, k))
		case policy.MarkContents:
			out = append(out, uncheckedPolicy(k))
		}
		if k.Mark == policy.MarkProtection {
			out = append(out, bindSelectedPolicy(rules, k))
		}
		if k.Mark != "" {
			continue // package marks sees to it that nobody else writes it
		}
		if k.Strict {
			out = append(out, unprotectPolicy(rules, k), bindPolicy(k))
		}
		out = append(out, valuePolicy(k), valueStandsPolicy(k))
	}
	if o.ByDefault {
		out = append(out, byDefaultPolicies(rules)...)
	}
	for i := range out {
		out[i].Mode, out[i].Scope, out[i].Undecided = o.Config.Mode, o.Scope, o.Undecided
	}
	return append(out, overridePolicies(o.Config, o.Users)...)
}

func deletePolicy(rules policy.Rules, k policy.Key) admission.Policy {
	passes := []string{
		"has(oldObject.metadata.deletionTimestamp)",
		"variables.kind in " + resources([]schema.GroupResource{policy.ClusterRoles}) + " && oldObject.metadata.name == " + cel.String(v1alpha1.AnchorName),
		"variables.derived && variables.machine",
		"variables.preempts",
	}
	variables := slices.Concat(identity(rules), []admissionregistrationv1.Variable{derived(), word()})
	if k.Mark != "" {
		passes = append(passes, "!("+marks.Bound("oldObject")+")")
	}
	if slices.Contains(k.Values, v1alpha1.ProtectCascading) {
		variables = append(variables, used(), whileUsed(k), admission.MayUnprotect())
		passes = append(passes, "!("+protects(labelValue("oldObject", k.Label), k)+")", "variables.whileUsed && !variables.used && "+looked)
	}
	// The authorizer costs more than the rest, so it comes last.
	operated := "(variables.kind in " + derivedKinds(false) + " || variables.kind in " + resources(policy.ReplaceableKinds) + ") && variables.operator"
	if k.Mark != policy.MarkContents {
		variables = append(variables, operator()...)
	}
	var audit []admissionregistrationv1.AuditAnnotation
	switch k.Mark {
	case policy.MarkContents:
		variables = append(variables, admission.MayUnprotect())
		passes = append(passes,
			markValue("oldObject", v1alpha1.OverrideContentsMark)+" != ''",
			namespaceReleased,
			"request.?options.?propagationPolicy.orValue('') == 'Orphan' && !(variables.kind in "+resources(policy.NotOrphaned)+")",
			// A volume is unprotected cluster-wide, and not by who may unprotect in the namespace of its claim.
			unchecked("oldObject")+" && !(variables.kind in "+resources([]schema.GroupResource{policy.Claims})+") && variables.mayUnprotect",
		)
	case policy.MarkWhileUsed:
		variables = append(variables, used(), admission.MayUnprotect())
		variables = append(variables, mayBypass(k)...)
		audit = auditedAs(k, strings.Join(append(slices.Clone(passes), "!variables.used", released), " || "))
		passes = append(passes, "!variables.used && "+looked, released, operated, "variables.given && !variables.givenEverything")
	case policy.MarkProtection:
		variables = append(variables, mayBypass(k)...)
		audit = auditedAs(k, strings.Join(append(slices.Clone(passes), released), " || "))
		passes = append(passes, released, operated, "variables.given && !variables.givenEverything")
	default:
		passes = append(passes, released, operated)
	}
	validation := admissionregistrationv1.Validation{Expression: strings.Join(passes, " || "), Message: k.DeleteMessage()}
	if strings.Contains(k.DeleteMessage(), policy.TargetPlace) {
		validation.MessageExpression = messageExpression(k, k.DeleteMessage())
		validation.Message = "This object is protected from deletion by the label " + k.Label
	}
	return admission.Policy{
		Name: k.PolicyName(policy.RuleDelete),
		Echo: admission.HelmRelease(),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(protecting(k), rule("*", "*", admissionregistrationv1.Delete)),
			Variables:        variables,
			Validations:      []admissionregistrationv1.Validation{validation},
			AuditAnnotations: audit,
		},
	}
}

// auditedAs has the API server's audit log tell which protection refused, or was
// bypassed: its metrics count by policy, and all protections have one. There is no
// authorizer in such an expression, and one that fails refuses the request. Of
// several protections the label says only how many, and the annotation which.
func auditedAs(k policy.Key, passes string) []admissionregistrationv1.AuditAnnotation {
	by := labelValue("oldObject", k.Label)
	return []admissionregistrationv1.AuditAnnotation{{
		Key: policy.AuditProtection,
		ValueExpression: "(" + passes + ") ? '' : " + by + " + (" + by + ".endsWith(" + cel.String(v1alpha1.SeveralProtections) + ") ? ': ' + " +
			"oldObject.metadata.?annotations[" + cel.String(k.Label) + "].orValue('') : '')",
	}}
}

// denialSources are what tells of the refusals of protections in audit events.
func denialSources() denials.Sources {
	s := denials.Sources{Webhook: ConfirmName}
	for _, m := range []policy.Mark{policy.MarkProtection, policy.MarkWhileUsed} {
		s.Policies = append(s.Policies, policy.Key{Name: string(m)}.PolicyName(policy.RuleDelete))
	}
	return s
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
				derived(),
				word(),
				value("old", "oldObject", k.Label),
				value("new", "object", k.Label),
				{Name: "free", Expression: "has(oldObject.metadata.deletionTimestamp) || !(" + protects("variables.old", k) + ")"},
				admission.MayUnprotect(),
			}, ownership(), operator()),
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: fmt.Sprintf("variables.free || variables.new == variables.old || variables.new == %s || "+
						"variables.derived && variables.machine || variables.mayUnprotect || !(variables.kind in %s) && variables.operator",
						cel.String(v1alpha1.ProtectAlways), resources(policy.DataKinds)),
					MessageExpression: messageExpression(k, k.UnprotectMessage()),
					Message:           "the label " + k.Label + " protects this object from deletion, and taking it away is a right of its own",
				},
				ownValidation(k),
				controlValidation(k, "!(variables.kind in "+derivedKinds(false)+") && !(variables.kind in "+resources(policy.DataKinds)+")"),
			},
		},
	}
}

// selectedPolicy keeps what a protection selects from an owner with which the garbage collector would delete it, from
// a controller whose operator could, and from other labels, with which the protection would not select it.
func selectedPolicy(rules policy.Rules, k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleOwn),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(existing(k), rule("*", "*/*", admissionregistrationv1.Update)),
			Variables: slices.Concat(identity(rules), []admissionregistrationv1.Variable{
				derived(),
				word(),
				{Name: "old", Expression: markValue("oldObject", k.Label)},
				{Name: "free", Expression: "has(oldObject.metadata.deletionTimestamp) || variables.old == ''"},
				{Name: "selecting", Expression: "oldObject.metadata.?annotations[" + cel.String(v1alpha1.LabelsAnnotation(k.Label)) + "].orValue('')"},
				{Name: "relabelled", Expression: "variables.selecting == '' ? [] : variables.selecting.split(',')" +
					".filter(k, object.metadata.?labels[?k] != oldObject.metadata.?labels[?k])"},
				admission.MayUnprotect(),
			}, ownership()),
			Validations: []admissionregistrationv1.Validation{
				ownValidation(k),
				controlValidation(k, "variables.kind in "+resources(policy.ReplaceableKinds)),
				{
					Expression: "variables.free || size(variables.relabelled) == 0 || " +
						"variables.machine && (variables.kind == '/nodes' || variables.derived) || variables.mayUnprotect",
					MessageExpression: messageExpression(k, k.RelabelMessage()),
					Message:           "a ResourceDeletionProtection selects this object by labels that this update changes, which needs the right to unprotect",
				},
			},
		},
	}
}

// uncheckedPolicy lets only users who may unprotect switch off the webhook for a definition. While no replica answers, the
// webhook cannot refuse that itself.
func uncheckedPolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleUnchecked),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(nil,
				rule(policy.CustomResourceDefinitions.Group, policy.CustomResourceDefinitions.Resource,
					admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete),
				rule(policy.CustomResourceDefinitions.Group, policy.CustomResourceDefinitions.Resource+"/status", admissionregistrationv1.Update)),
			Variables: []admissionregistrationv1.Variable{
				{Name: "before", Expression: "request.operation != 'CREATE' && " + unchecked("oldObject")},
				admission.MayUnprotect(),
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "(request.operation == 'DELETE' ? !variables.before || has(oldObject.metadata.deletionTimestamp) || " +
					markValue("oldObject", v1alpha1.OverrideContentsMark) + " != '' : variables.before || !(" + unchecked("object") + ")) || variables.mayUnprotect",
				Message: policy.UncheckedMessage(),
			}},
		},
	}
}

// ownership is the variable gainsOwner, and what it needs.
func ownership() []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		value("madeBefore", "oldObject", policy.MadeByLabel),
		value("madeAfter", "object", policy.MadeByLabel),
		{Name: "gainsOwner", Expression: "variables.madeAfter != variables.madeBefore && variables.madeAfter != '' || " +
			"!object.metadata.?ownerReferences.orValue([]).all(n, " +
			"oldObject.metadata.?ownerReferences.orValue([]).exists(o, " +
			"o.uid == n.uid && o.name == n.name && o.kind == n.kind && o.apiVersion == n.apiVersion && " +
			"(o.?controller.orValue(false) || !n.?controller.orValue(false))))"},
		{Name: "controllerBefore", Expression: controllers("oldObject")},
		{Name: "controllerAfter", Expression: controllers("object")},
		{Name: "gainsController", Expression: "size(variables.controllerAfter) > 0 && (size(variables.controllerBefore) == 0 || " +
			"variables.controllerAfter[0].kind != variables.controllerBefore[0].kind || " +
			"variables.controllerAfter[0].name != variables.controllerBefore[0].name || " +
			groupOf("variables.controllerAfter[0].apiVersion") + " != " + groupOf("variables.controllerBefore[0].apiVersion") + ")"},
	}
}

// ownValidation refuses what gives a derived object an owner with which it would be
// deleted.
func ownValidation(k policy.Key) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{
		Expression: "variables.free || !(variables.kind in " + derivedKinds(false) + ") || variables.machine || " +
			"!variables.gainsOwner || variables.mayUnprotect",
		Message: k.OwnMessage(),
	}
}

// controlValidation refuses another controller for a kind of which an operator may take protection away.
func controlValidation(k policy.Key, kinds string) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{
		Expression:        "variables.free || !(" + kinds + ") || variables.machine || !variables.gainsController || variables.mayUnprotect",
		MessageExpression: messageExpression(k, k.ControlMessage()),
		Message:           "the label " + k.Label + " protects this object from deletion, and naming another controller, whose operator it does not bind, is a right of its own",
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
			Variables: []admissionregistrationv1.Variable{value("new", "object", k.Label), admission.MayUnprotect()},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.new == " + cel.String(v1alpha1.ProtectAlways) + " || variables.mayUnprotect",
				Message:    k.BindMessage(),
			}},
		},
	}
}

// bindSelectedPolicy watches all Bindings: their labels may be those by which a protection selects the pod, which the
// policy does not see.
func bindSelectedPolicy(rules policy.Rules, k policy.Key) admission.Policy {
	passes := []string{"k in " + cel.Strings(rules.BoundElsewhere())}
	for _, domain := range policy.TopologyDomains {
		passes = append(passes, "k.startsWith("+cel.String(domain)+")")
	}
	return admission.Policy{
		Name: k.PolicyName(policy.RuleBind),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match(nil,
				rule("", "pods/binding", admissionregistrationv1.Create),
				rule("", "bindings", admissionregistrationv1.Create)),
			Variables: []admissionregistrationv1.Variable{admission.MayUnprotect()},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.?labels.orValue({}).all(k, " + strings.Join(passes, " || ") + ") || variables.mayUnprotect",
				Message:    k.BindMessage(),
			}},
		},
	}
}

func valuePolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name: k.PolicyName(policy.RuleValue),
		Spec: valueSpec(k, []string{"", v1alpha1.ProtectAlways}, admissionregistrationv1.Validation{
			Expression: "variables.known || variables.stands || variables.controlled || variables.elsewhere", Message: k.ValueMessage(),
		}),
	}
}

// valueStandsPolicy matches all values that are not empty: none protects an object that is being deleted.
func valueStandsPolicy(k policy.Key) admission.Policy {
	return admission.Policy{
		Name:     k.PolicyName(policy.RuleValueStands),
		WarnOnly: true,
		Spec: valueSpec(k, []string{""},
			admissionregistrationv1.Validation{
				Expression: "variables.known || !variables.stands && !variables.controlled && !variables.elsewhere", Message: k.ValueStandsMessage(),
			},
			admissionregistrationv1.Validation{
				Expression: "!has(object.metadata.deletionTimestamp) || variables.stands || !(" + protects("variables.new", k) + ")", Message: k.TooLateMessage(),
			}),
	}
}

// valueSpec matches objects on which the label has none of some values, before or after the change.
func valueSpec(k policy.Key, but []string, validations ...admissionregistrationv1.Validation) admissionregistrationv1.ValidatingAdmissionPolicySpec {
	return admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match(
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: k.Label, Operator: metav1.LabelSelectorOpExists},
				{Key: k.Label, Operator: metav1.LabelSelectorOpNotIn, Values: but},
			}},
			rule("*", "*", admissionregistrationv1.Create, admissionregistrationv1.Update)),
		Variables: []admissionregistrationv1.Variable{
			{Name: "kind", Expression: kindExpression},
			value("new", "object", k.Label),
			{Name: "known", Expression: known(k)},
			{Name: "stands", Expression: "request.operation == 'UPDATE' && " +
				labelValue("oldObject", k.Label) + " == variables.new"},
			{Name: "elsewhere", Expression: "variables.new in " + cel.Strings(k.Elsewhere)},
			{Name: "controlled", Expression: controlled("object")},
		},
		Validations: validations,
	}
}
