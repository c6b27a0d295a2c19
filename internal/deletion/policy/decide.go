// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Rule names a rule of the deletion guard.
type Rule string

const (
	// RuleDelete refuses to delete a protected object.
	RuleDelete Rule = "delete"
	// RuleUnprotect refuses to take protection away without the right to.
	RuleUnprotect Rule = "unprotect"
	// RuleOwn refuses to give a protected derived object a new owner, because
	// the garbage collector deletes it when that owner does not exist.
	RuleOwn Rule = "own"
	// RuleControl refuses to give a protected object another controller, because the
	// operator of a controller may take protection away.
	RuleControl Rule = "control"
	// RuleRelabel refuses to take an object out of the protections that select it
	// by its labels, without the right to unprotect.
	RuleRelabel Rule = "relabel"
	// RuleUnchecked keeps who may write CustomResourceDefinitions from deleting one
	// without the look at its objects, which would all be deleted.
	RuleUnchecked Rule = "unchecked"
	// RuleBind refuses to take protection away by binding a pod to a node,
	// which overwrites the pod's labels: one that protects it, or one by which
	// a protection may select it.
	RuleBind Rule = "bind"
	// RuleValue refuses a label value that means nothing.
	RuleValue Rule = "value"
	// RuleValueStands warns of a label value that Holdfast does not act on and that
	// is there already, comes from a template, or means something elsewhere.
	RuleValueStands Rule = "value-stands"
	// RuleTooLate warns of a label that is set on an object that is being deleted.
	RuleTooLate Rule = "too-late"
)

// Names of the policies of protection by default, which has no label of the object's and so no Key.
const (
	ByDefaultPolicyName          = "holdfast-deletion-default"
	ByDefaultNamespacePolicyName = "holdfast-deletion-default-namespace"
)

// uncheckedPolicyName is that of the policy that runs RuleUnchecked.
const uncheckedPolicyName = "holdfast-deletion-unchecked"

// PolicyName is the name of the policy that runs a rule for the label. It is part
// of every refusal that users see.
func (k Key) PolicyName(r Rule) string {
	name := "holdfast-deletion-" + k.Name
	switch r {
	case RuleDelete:
		return name
	case RuleOwn, RuleControl, RuleRelabel: // further validations of the policy against unprotecting
		return name + "-" + string(RuleUnprotect)
	case RuleTooLate:
		return name + "-" + string(RuleValueStands)
	case RuleUnchecked: // about contents, marked or not
		return uncheckedPolicyName
	default:
		return name + "-" + string(r)
	}
}

// Finding is what one rule has against a request.
type Finding struct {
	Rule Rule
	// Key is the label that the rule is about.
	Key Key
	// WarnOnly is set where the rule warns and never refuses.
	WarnOnly bool
	// Message says what is wrong and what to do, as the API server would.
	Message string
}

// Verdict is all that the rules have against a request. The API server reports
// the first refusal only.
type Verdict []Finding

// Allowed says whether the request passes.
func (v Verdict) Allowed() bool {
	return !slices.ContainsFunc(v, func(f Finding) bool { return !f.WarnOnly })
}

// Decide says what the rules have against a request.
func (r Rules) Decide(req Request) Verdict {
	var v Verdict
	for _, k := range r.Keys {
		v = append(v, r.decideKey(k, req)...)
	}
	return v
}

func (r Rules) decideKey(k Key, req Request) []Finding {
	switch {
	case req.Operation == admissionv1.Delete && req.SubResource == "":
		return slices.Concat(r.onDelete(k, req), onUnchecked(k, req))
	case k.Mark == MarkContents:
		return onUnchecked(k, req)
	case k.Mark != "":
		return slices.Concat(r.onOwn(k, req), r.onRelabel(k, req), r.onBindSelected(k, req))
	case req.Operation == admissionv1.Update:
		return slices.Concat(r.onUpdate(k, req), onValue(k, req))
	case req.Operation == admissionv1.Create:
		return slices.Concat(onBind(k, req), onValue(k, req))
	}
	return nil
}

func (r Rules) onDelete(k Key, req Request) []Finding {
	switch k.effect(req.Resource, k.Value(req.OldObject)) {
	case open:
		return nil
	case protectedWhileUsed:
		// Of what has contents the webhook tells, unless the deletion passes by it.
		passesBy := usedBy(req.Resource) == UsedByContents && passesUnlooked(req.OldObject) && !req.MayUnprotect
		if !req.Used && !passesBy {
			return nil
		}
	}
	if terminating(req.OldObject) || isAnchor(req) || r.replaces(k, req) || k.letsPass(req) {
		return nil
	}
	return []Finding{{Rule: RuleDelete, Key: k, Message: k.render(k.DeleteMessage(), req)}}
}

// isAnchor reports whether a request is for the ClusterRole that stops Holdfast. The policy holdfast-self guards it, and no
// other: an owner reference of a tenant, or a label, would keep administrators from stopping Holdfast.
func isAnchor(req Request) bool {
	return req.Resource == ClusterRoles && req.OldObject.Name == v1alpha1.AnchorName
}

// ClusterRoles is the resource of the anchor.
var ClusterRoles = schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}

// replaces reports whether the request deletes an object to make it again: one that a controller made of a template, or
// an operator of a custom resource. An operator may not delete what something protected hangs below. A pod may also have
// to make room.
func (r Rules) replaces(k Key, req Request) bool {
	return derived(req.Resource, req.OldObject) && r.machine(req) || preempts(req) ||
		k.Mark != MarkContents && req.Operates && replaceable(req.Resource)
}

func (r Rules) onUpdate(k Key, req Request) []Finding {
	if !k.Strict || !k.protects(req.Resource, req.OldObject) || terminating(req.OldObject) || req.MayUnprotect {
		return nil
	}
	var found []Finding
	operates := req.Operates && !slices.Contains(DataKinds, req.Resource)
	if k.weakens(req) && !operates && !(derived(req.Resource, req.OldObject) && r.machine(req)) {
		found = append(found, Finding{Rule: RuleUnprotect, Key: k, Message: k.render(k.UnprotectMessage(), req)})
	}
	return append(found, r.onOwn(k, req)...)
}

// onOwn refuses to give what is protected an owner with which it would be deleted, or a controller whose operator could
// take the protection away.
func (r Rules) onOwn(k Key, req Request) []Finding {
	if req.Operation != admissionv1.Update || k.Mark == MarkContents || !k.protects(req.Resource, req.OldObject) ||
		terminating(req.OldObject) || req.MayUnprotect || r.machine(req) {
		return nil
	}
	if _, ok := derivedKind(req.Resource); ok {
		if gainsOwner(req) {
			return []Finding{{Rule: RuleOwn, Key: k, Message: k.OwnMessage()}}
		}
		return nil
	}
	if k.yieldsToOperator(req.Resource) && gainsController(req) {
		return []Finding{{Rule: RuleControl, Key: k, Message: k.render(k.ControlMessage(), req)}}
	}
	return nil
}

// letsPass says whether there is a way past the protection that leaves it in
// force for others.
func (k Key) letsPass(req Request) bool {
	o := req.OldObject
	switch k.Mark {
	case MarkContents:
		return v1alpha1.MarkOf(o, v1alpha1.OverrideContentsMark) != "" ||
			req.Released ||
			// A volume is unprotected cluster-wide, and not by who may unprotect in the namespace of its claim.
			req.MayUnprotect && passesUnlooked(o) && req.Resource != Claims ||
			req.Orphans && !slices.Contains(NotOrphaned, req.Resource)
	case MarkProtection, MarkWhileUsed:
		if req.MayBypass[k.Mark] {
			return true
		}
	}
	return v1alpha1.MarkOf(o, v1alpha1.OverrideMark) != "" || req.Released
}

// weakens says whether an update of a protected object touches its protection.
// Setting it to Always never does: an unknown value may be mended by anyone.
func (k Key) weakens(req Request) bool {
	old, value := req.OldObject.Labels[k.Label], labels(req.Object)[k.Label]
	return value != old && value != v1alpha1.ProtectAlways
}

// gainsOwner says whether an update adds an owner reference, points an existing
// one at another object, makes its owner the controller, or claims that a
// controller made the object.
func gainsOwner(req Request) bool {
	if req.Object == nil {
		return false
	}
	if req.Object.Labels[MadeByLabel] != req.OldObject.Labels[MadeByLabel] && req.Object.Labels[MadeByLabel] != "" {
		return true
	}
	return slices.ContainsFunc(req.Object.OwnerReferences, func(n metav1.OwnerReference) bool {
		return !slices.ContainsFunc(req.OldObject.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.UID == n.UID && o.Name == n.Name && o.Kind == n.Kind && o.APIVersion == n.APIVersion &&
				(isTrue(o.Controller) || !isTrue(n.Controller))
		})
	})
}

// gainsController says whether an update names a controller that the object did not have. The same custom resource may
// have another UID, or its group another version.
func gainsController(req Request) bool {
	if req.Object == nil {
		return false
	}
	after, before := metav1.GetControllerOfNoCopy(req.Object), metav1.GetControllerOfNoCopy(req.OldObject)
	switch {
	case after == nil:
		return false
	case before == nil:
		return true
	}
	return after.Kind != before.Kind || after.Name != before.Name || groupOf(after.APIVersion) != groupOf(before.APIVersion)
}

// groupOf is the group of an apiVersion that the API server has validated.
func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

func onBind(k Key, req Request) []Finding {
	if !k.Strict || req.MayUnprotect || !isBinding(req) {
		return nil
	}
	value, ok := labels(req.Object)[k.Label]
	if !ok || value == v1alpha1.ProtectAlways {
		return nil
	}
	return []Finding{{Rule: RuleBind, Key: k, Message: k.BindMessage()}}
}

// TopologyDomains are the domains of labels that the API server copies from a Node to a Binding.
var TopologyDomains = []string{"topology.kubernetes.io/", "topology.k8s.io/"}

// onBindSelected refuses any other label of a Binding, which overwrites one by which a protection may select the pod: the
// policy sees the Binding and not the pod.
func (r Rules) onBindSelected(k Key, req Request) []Finding {
	if k.Mark != MarkProtection || req.Operation != admissionv1.Create || req.MayUnprotect || !isBinding(req) {
		return nil
	}
	guarded := r.BoundElsewhere()
	for key := range labels(req.Object) {
		ofTopology := slices.ContainsFunc(TopologyDomains, func(domain string) bool { return strings.HasPrefix(key, domain) })
		if !ofTopology && !slices.Contains(guarded, key) {
			return []Finding{{Rule: RuleBind, Key: k, Message: k.BindMessage()}}
		}
	}
	return nil
}

// BoundElsewhere are the labels of a Binding for which there are policies of their own.
func (r Rules) BoundElsewhere() []string {
	out := append(slices.Clone(v1alpha1.Marks), v1alpha1.MarkedLabel)
	for _, k := range r.Keys {
		if k.Strict {
			out = append(out, k.Label)
		}
	}
	return out
}

func isBinding(req Request) bool {
	if req.Resource.Group != "" {
		return false
	}
	return req.Resource.Resource == "pods" && req.SubResource == "binding" ||
		req.Resource.Resource == "bindings" && req.SubResource == ""
}

func onValue(k Key, req Request) []Finding {
	if req.SubResource != "" {
		return nil
	}
	value := labels(req.Object)[k.Label]
	stands := req.Operation == admissionv1.Update && labels(req.OldObject)[k.Label] == value
	if terminating(req.Object) && !stands && k.Protects(req.Resource, value) {
		late := Finding{Rule: RuleTooLate, Key: k, WarnOnly: true, Message: k.TooLateMessage()}
		return append(k.onUnknown(req, value, stands), late)
	}
	return k.onUnknown(req, value, stands)
}

// onUnknown is about a value that the label may not be set to.
func (k Key) onUnknown(req Request, value string, stands bool) []Finding {
	if k.Knows(req.Resource, value) {
		return nil
	}
	if stands || controlled(req.Object) || slices.Contains(k.Elsewhere, value) {
		return []Finding{{Rule: RuleValueStands, Key: k, WarnOnly: true, Message: k.ValueStandsMessage()}}
	}
	return []Finding{{Rule: RuleValue, Key: k, Message: k.ValueMessage()}}
}

func (k Key) protects(r schema.GroupResource, o *metav1.PartialObjectMetadata) bool {
	return k.Protects(r, k.Value(o))
}

func labels(o *metav1.PartialObjectMetadata) map[string]string {
	if o == nil {
		return nil
	}
	return o.Labels
}

func terminating(o *metav1.PartialObjectMetadata) bool { return o != nil && o.DeletionTimestamp != nil }

func isTrue(b *bool) bool { return b != nil && *b }
