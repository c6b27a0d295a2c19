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

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

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
			{Key: k.Label, Operator: metav1.LabelSelectorOpIn, Values: k.Values},
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
	always := value + " == " + cel.String(v1alpha1.ProtectAlways)
	if !slices.Contains(k.Values, v1alpha1.ProtectCascading) {
		return always
	}
	return always + " || " + value + " == " + cel.String(v1alpha1.ProtectCascading) + " && variables.kind in " + usedKinds("")
}

// value makes a variable of a label's value.
func value(name, object, label string) admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{Name: name, Expression: labelValue(object, label)}
}

func labelValue(object, label string) string {
	return object + ".metadata.?labels[" + cel.String(label) + "].orValue('')"
}

// markValue is v1alpha1.MarkOf for a CEL object.
func markValue(object, key string) string {
	return "(" + marks.Bound(object) + " ? " + labelValue(object, key) + " : '')"
}

// identity makes the variables kind, as "group/resource", machine, which says whether a controller asks and not a
// person, and preempts, as policy.Preemptors do.
func identity(rules policy.Rules) []admissionregistrationv1.Variable {
	users := slices.Concat(policy.ClusterControllers, rules.WorkloadControllers)
	return []admissionregistrationv1.Variable{
		{Name: "kind", Expression: kindExpression},
		{Name: "user", Expression: "request.userInfo.?username.orValue('')"},
		{Name: "machine", Expression: "variables.user in " + cel.Strings(users) +
			" || variables.kind in ['/pods', '/nodes'] && variables.user.startsWith(" + cel.String(policy.KubeletUserPrefix) + ")"},
		{Name: "preempts", Expression: "variables.kind == '/pods' && variables.user in " + cel.Strings(policy.Preemptors)},
	}
}

// kindExpression is the resource of a request as "group/resource".
const kindExpression = "request.resource.group + '/' + request.resource.resource"

// operator makes the variable operator: whether the user is the operator of the old object, see policy.OperatorChecks. The
// API server evaluates a variable only where an expression uses it. Each check of the authorizer is a variable of its own,
// because two in one expression take most of its cost limit.
func operator() []admissionregistrationv1.Variable {
	const ofController = "size(variables.controller) == 0 ? '' : variables.controller[0]."
	in := ".namespace(oldObject.metadata.?namespace.orValue(''))"
	return []admissionregistrationv1.Variable{
		{Name: "controller", Expression: controllers("oldObject")},
		{Name: "controllerGroup", Expression: ofController + "apiVersion.contains('/') ? variables.controller[0].apiVersion.split('/')[0] : ''"},
		{Name: "controllerKind", Expression: ofController + "kind.lowerAscii()"},
		{Name: "controllerResource", Expression: plural("variables.controllerKind")},
		{Name: "runsController", Expression: "variables.controllerKind != '' && variables.user.startsWith(" + cel.String(policy.ServiceAccountUserPrefix) + ") && " +
			"authorizer.group(variables.controllerGroup).resource(variables.controllerResource).subresource('status')" + in +
			".name(variables.controller[0].name).check('update').allowed()"},
		{Name: "mayDoEverything", Expression: fmt.Sprintf("authorizer.group(%s).resource(%s)%s.check('update').allowed()",
			cel.String(policy.Nothing.Group), cel.String(policy.Nothing.Resource), in)},
		{Name: "operator", Expression: "variables.runsController && !variables.mayDoEverything"},
	}
}

// plural is policy.Plural of a lower-case kind.
func plural(kind string) string {
	var out strings.Builder
	for _, p := range policy.Plurals {
		fmt.Fprintf(&out, "%[1]s.matches(%[2]s) ? %[1]s.substring(0, size(%[1]s) - %[3]d) + %[4]s : ", kind, cel.String(p.Ending.String()), p.Cut, cel.String(p.Suffix))
	}
	return out.String() + kind + " + 's'"
}

// resources returns a CEL list of "group/resource".
func resources(all []schema.GroupResource) string {
	out := make([]string, 0, len(all))
	for _, r := range all {
		out = append(out, r.Group+"/"+r.Resource)
	}
	return cel.Strings(out)
}

// derived makes the variable derived: whether controllers make and delete the
// object all the time.
func derived() admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "derived",
		Expression: "variables.kind in " + derivedKinds(true) +
			" ? " + labelValue("oldObject", policy.MadeByLabel) + " == " + cel.String(policy.MadeByValue) +
			" : variables.kind in " + derivedKinds(false) + " && " + controlled("oldObject"),
	}
}

// derivedKinds is a CEL list of policy.DerivedKinds; with unowned only of those
// whose objects have no owner.
func derivedKinds(unowned bool) string {
	var kinds []schema.GroupResource
	for _, d := range policy.DerivedKinds {
		if d.Unowned || !unowned {
			kinds = append(kinds, d.GroupResource)
		}
	}
	return resources(kinds)
}

func controlled(object string) string {
	return object + ".metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
}

// controllers is a CEL list of the owner reference to an object's controller; of none it is empty.
func controllers(object string) string {
	return object + ".metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"
}

// groupOf is the group of an apiVersion.
func groupOf(apiVersion string) string {
	return "(" + apiVersion + ".contains('/') ? " + apiVersion + ".split('/')[0] : '')"
}

// word makes the variable word, the old object's name as one word of a shell: whoever names a Role could otherwise write
// a second command into the one that a refusal recommends. A name that cannot be written so is left out.
func word() admissionregistrationv1.Variable {
	const name = "oldObject.metadata.name"
	return admissionregistrationv1.Variable{
		Name: "word",
		Expression: name + ".matches(" + cel.String(text.PlainWord) + ") ? " + name + " : " +
			name + ".matches('^[ -~]*$') ? \"'\" + " + name + ".replace(\"'\", " + cel.String(`'\''`) + ") + \"'\" : " + cel.String(policy.HiddenName),
	}
}

// messageExpression is the text of a refusal, with the object in its places. It needs the variable word.
func messageExpression(k policy.Key, message string) string {
	places := map[string]string{
		policy.TargetPlace:    "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group) + '/' + variables.word",
		policy.NamespacePlace: "(has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : '')",
		policy.DetailPlace:    detail(k),
		policy.WhilePlace:     "''",
		policy.KeysPlace:      "variables.relabelled.join(', ')",
	}
	if slices.Contains(k.Values, v1alpha1.ProtectCascading) {
		places[policy.WhilePlace] = "(variables.whileUsed ? " + cel.String(policy.WhileUsed) + " : '')"
	}
	var parts []string
	for message != "" {
		i, place := len(message), ""
		for p := range places {
			if j := strings.Index(message, p); j >= 0 && j < i {
				i, place = j, p
			}
		}
		if i > 0 {
			parts = append(parts, cel.String(message[:i]))
		}
		if place != "" {
			parts = append(parts, places[place])
		}
		message = message[i+len(place):]
	}
	return strings.Join(parts, " + ")
}

// detail is what the annotation of a mark says. A user may write it until Holdfast writes it again, so a text that could
// steer a terminal is left out.
func detail(k policy.Key) string {
	annotation := "oldObject.metadata.?annotations[" + cel.String(k.Label) + "].orValue('')"
	return "(" + annotation + " != '' && " + annotation + ".matches(" + cel.String(text.PlainLine) + ") ? " + annotation + " : " + labelValue("oldObject", k.Label) + ")"
}

// released lets a deletion pass because of a DeletionOverride of the object, or
// of its namespace with what is in it.
var released = markValue("oldObject", v1alpha1.OverrideMark) + " != '' || " + namespaceReleased

var namespaceReleased = "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp) && " +
	markValue("namespaceObject", v1alpha1.OverrideContentsMark) + " != ''"

// unchecked says whether a deletion passes by the webhook that looks what is in an
// object.
func unchecked(object string) string {
	return object + ".metadata.?annotations[" + cel.String(v1alpha1.DeleteUncheckedAnnotation) + "].orValue('') == " + object + ".metadata.name"
}

// looked says whether the webhook looks, or who asks need not care.
var looked = "(!(variables.kind in " + usedKinds(policy.UsedByContents) + ") || !(" + unchecked("oldObject") + ") || variables.mayUnprotect)"

// mayBypass asks for the verb that lets a user delete what a protection protects,
// and for every verb, because a role that allows everything does not mean this.
// They are two variables: asking the authorizer twice is most of what one
// expression may cost.
func mayBypass(k policy.Key) []admissionregistrationv1.Variable {
	check := fmt.Sprintf("authorizer.group(%s).resource(%s).name(%s)", cel.String(v1alpha1.GroupName),
		cel.String(v1alpha1.UnprotectResource), labelValue("oldObject", k.Label))
	return []admissionregistrationv1.Variable{
		{Name: "given", Expression: check + ".check(" + cel.String(v1alpha1.BypassVerb) + ").allowed()"},
		{Name: "givenEverything", Expression: check + ".check('*').allowed()"},
	}
}

// used says what policy.Used does.
func used() admissionregistrationv1.Variable {
	addresses := "size(oldObject.?status.?loadBalancer.?ingress.orValue([])) > 0"
	return admissionregistrationv1.Variable{
		Name: "used",
		Expression: "variables.kind in " + usedKinds(policy.UsedByReplicas) + " ? oldObject.?spec.?replicas.orValue(1) > 0 : " +
			"variables.kind in " + usedKinds(policy.UsedByTraffic) + " && (" + addresses +
			" || variables.kind == '/services' && " + markValue("oldObject", v1alpha1.InUseMark) + " != '')",
	}
}

// whileUsed says whether the label protects only while the object is in use.
func whileUsed(k policy.Key) admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "whileUsed",
		Expression: labelValue("oldObject", k.Label) + " == " + cel.String(v1alpha1.ProtectCascading) +
			" && variables.kind in " + usedKinds(""),
	}
}

// known says what policy.Key.Knows does, of the variables new and kind.
func known(k policy.Key) string {
	always := "variables.new in " + cel.Strings([]string{"", v1alpha1.ProtectAlways})
	if !slices.Contains(k.Values, v1alpha1.ProtectCascading) {
		return always
	}
	return always + " || variables.new == " + cel.String(v1alpha1.ProtectCascading) +
		" && variables.kind in " + usedKinds("")
}

// usedKinds lists the kinds that show their use in some way; all of them for "".
func usedKinds(by policy.UsedBy) string {
	var kinds []string
	for _, k := range policy.UsedKinds {
		if by == "" || k.By == by {
			kinds = append(kinds, k.Group+"/"+k.Resource)
		}
	}
	return cel.Strings(kinds)
}
