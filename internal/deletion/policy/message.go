// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// Places in a message where the object stands: TargetPlace as kubectl writes it
// in a shell ("deployments.apps/web"), NamespacePlace as the flag that goes with it
// (" -n shop"), empty for a cluster-scoped object. DetailPlace is where the
// mark's annotation stands, or its value if there is none, and WhilePlace where a
// label protects only an object that is in use. KeysPlace are the labels that an update changes.
const (
	TargetPlace    = "{target}"
	NamespacePlace = "{namespace}"
	DetailPlace    = "{detail}"
	WhilePlace     = "{while}"
	KeysPlace      = "{keys}"
)

// WhileUsed is what WhilePlace becomes.
const WhileUsed = " while it is in use"

// DeleteMessage is the text of RuleDelete, with places for the object. It names
// the object because the API server does not when a whole collection is
// deleted. Karmada's label keeps the text that its users and scripts know.
func (k Key) DeleteMessage() string {
	const (
		off      = "kubectl label " + TargetPlace + NamespacePlace + " "
		override = ". To let this one object go for a while: kubectl holdfast override ask " + TargetPlace + NamespacePlace + " --reason WHY"
	)
	switch k.Mark {
	case MarkProtection:
		return TargetPlace + " is protected from deletion by ResourceDeletionProtection " + DetailPlace + override
	case MarkWhileUsed:
		return TargetPlace + " is protected from deletion" + WhileUsed + " by ResourceDeletionProtection " + DetailPlace + override
	case MarkContents:
		return TargetPlace + " is not deleted because of what hangs below it: " + DetailPlace +
			". To see all of it: kubectl holdfast why delete " + TargetPlace + NamespacePlace
	}
	switch k.Label {
	case v1alpha1.KarmadaDeletionProtectedLabel:
		return "This resource is protected, please make sure to remove the label: " + k.Label
	case v1alpha1.DeletionProtectedLabel:
		return TargetPlace + " is protected from deletion" + WhilePlace + " by the label " + k.Label +
			". Whoever holds the right to unprotect it can run: " + off + k.Label + "-"
	default:
		return TargetPlace + " is protected from deletion" + WhilePlace + " by the label " + k.Label +
			". Take the label away first: " + off + k.Label + "-"
	}
}

// needsVerb ends every text about the right to unprotect.
var needsVerb = fmt.Sprintf("the RBAC verb %q on %s.%s in the object's namespace, or cluster-wide for a Namespace or an object without one",
	v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)

// UnprotectMessage is the text of RuleUnprotect, with places for the object. It
// ends with what helps where a tool applies a manifest that lacks the label.
func (k Key) UnprotectMessage() string {
	return "the label " + k.Label + " protects " + TargetPlace + " from deletion; taking it away, changing or emptying it needs " + needsVerb +
		". Put it back into what you apply, or have somebody with that right run: kubectl label " + TargetPlace + NamespacePlace + " " + k.Label + "-"
}

// RelabelMessage is the text of RuleRelabel, with places for the object and the labels.
func (k Key) RelabelMessage() string {
	return "ResourceDeletionProtection " + DetailPlace + " selects " + TargetPlace + " by labels, of which this update changes " + KeysPlace +
		". That takes the object out of the protection and needs " + needsVerb + ". Put these labels back into what you apply"
}

// UncheckedMessage is the text of RuleUnchecked.
func UncheckedMessage() string {
	return fmt.Sprintf("the annotation %s has a CustomResourceDefinition deleted with all of its objects, protected or not; setting it, and deleting the definition while it has it, needs the RBAC verb %q on %s.%s, cluster-wide",
		v1alpha1.DeleteUncheckedAnnotation, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
}

// TooLateMessage is the text of RuleTooLate.
func (k Key) TooLateMessage() string {
	return "this object is already being deleted, and the label " + k.Label + " does not stop that"
}

// OwnMessage is the text of RuleOwn.
func (k Key) OwnMessage() string {
	return "the label " + k.Label + " protects this object from deletion, and it would be deleted together with the owner that is added or changed; that needs " + needsVerb
}

// ControlMessage is the text of RuleControl, with places for the object.
func (k Key) ControlMessage() string {
	return "the label " + k.Label + " protects " + TargetPlace + " from deletion, which does not bind the operator of its controller; naming another controller needs " + needsVerb
}

// BindMessage is the text of RuleBind.
func (k Key) BindMessage() string {
	if k.Mark != "" {
		return "a binding's labels overwrite those of its pod, by which a ResourceDeletionProtection may select it; labels other than " +
			strings.Join(TopologyDomains, "… and ") + "… need " + needsVerb
	}
	return "a binding that carries the label " + k.Label + " overwrites the pod's protection from deletion; that needs " + needsVerb
}

// ValueMessage is the text of RuleValue.
func (k Key) ValueMessage() string {
	return fmt.Sprintf("the label %s may be %s, or empty to protect nothing", k.Label, k.values())
}

// ValueStandsMessage is the text of RuleValueStands.
func (k Key) ValueStandsMessage() string {
	effect := "does not protect this object"
	if k.AnyValue {
		effect = "protects this object as " + v1alpha1.ProtectAlways + " does"
	}
	return fmt.Sprintf("the label %s has a value that Holdfast does not act on and %s; it may be %s, or empty to protect nothing",
		k.Label, effect, k.values())
}

// values lists what the label may be set to.
func (k Key) values() string {
	return strings.ReplaceAll(strings.Join(k.Values, " or "), v1alpha1.ProtectCascading,
		v1alpha1.ProtectCascading+" on what can be in use (a Namespace, CustomResourceDefinition, Service, Ingress or workload with replicas)")
}

// render puts the object of a request into the places of a message.
func (k Key) render(message string, req Request) string {
	o := req.OldObject
	flag, while := "", ""
	if o.Namespace != "" {
		flag = " -n " + o.Namespace
	}
	if k.effect(req.Resource, k.Value(o)) == protectedWhileUsed {
		while = WhileUsed
	}
	detail := o.Annotations[k.Label]
	if detail == "" || !text.IsPlainLine(detail) {
		detail = o.Labels[k.Label]
	}
	target := req.Resource.String() + "/" + word(o.Name)
	return strings.NewReplacer(TargetPlace, target, NamespacePlace, flag, DetailPlace, detail, WhilePlace, while).Replace(message)
}

// HiddenName stands in a message for a name with characters that CEL cannot escape, such as a line break.
const HiddenName = "NAME"

// word is a name in a message, which has commands to copy.
func word(name string) string {
	if w := text.Word(name); !strings.HasPrefix(w, "$") {
		return w
	}
	return HiddenName
}

// Target writes an object as kubectl takes it in a shell: deployments.apps/web.
func Target(r schema.GroupResource, o *metav1.PartialObjectMetadata) string {
	return r.String() + "/" + text.Word(o.Name)
}
