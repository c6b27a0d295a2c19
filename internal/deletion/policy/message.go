// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Places in a message where the object stands: TargetPlace as kubectl writes it
// ("deployments.apps/web"), NamespacePlace as the flag that goes with it
// (" -n shop"), empty for a cluster-scoped object.
const (
	TargetPlace    = "{target}"
	NamespacePlace = "{namespace}"
)

// DeleteMessage is the text of RuleDelete, with places for the object. It names
// the object because the API server does not when a whole collection is
// deleted. Karmada's label keeps the text that its users and scripts know.
func (k Key) DeleteMessage() string {
	switch k.Label {
	case v1alpha1.KarmadaDeletionProtectedLabel:
		return "This resource is protected, please make sure to remove the label: " + k.Label
	case v1alpha1.DeletionProtectedLabel:
		return TargetPlace + " is protected from deletion by the label " + k.Label +
			". Whoever may take the label away can run: kubectl holdfast unprotect " + TargetPlace + NamespacePlace
	default:
		return TargetPlace + " is protected from deletion by the label " + k.Label +
			". Take the label away first: kubectl label " + TargetPlace + NamespacePlace + " " + k.Label + "-"
	}
}

// UnprotectMessage is the text of RuleUnprotect.
func (k Key) UnprotectMessage() string {
	return fmt.Sprintf("the label %s protects this object from deletion; taking it away, changing or emptying it needs the RBAC verb %q on %s.%s",
		k.Label, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
}

// OwnMessage is the text of RuleOwn.
func (k Key) OwnMessage() string {
	return fmt.Sprintf("the label %s protects this object from deletion, and the garbage collector would delete it with the owner that is added; adding one needs the RBAC verb %q on %s.%s",
		k.Label, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
}

// BindMessage is the text of RuleBind.
func (k Key) BindMessage() string {
	return fmt.Sprintf("a binding that carries the label %s overwrites the pod's protection from deletion; that needs the RBAC verb %q on %s.%s",
		k.Label, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
}

// ValueMessage is the text of RuleValue.
func (k Key) ValueMessage() string {
	return fmt.Sprintf("the label %s may be %s, or empty to protect nothing", k.Label, strings.Join(k.Values, " or "))
}

// ValueStandsMessage is the text of RuleValueStands.
func (k Key) ValueStandsMessage() string {
	effect := "does not protect this object"
	if k.AnyValue {
		effect = "protects this object as " + v1alpha1.ProtectAlways + " does"
	}
	return fmt.Sprintf("the label %s has a value that means nothing and %s; it may be %s, or empty to protect nothing",
		k.Label, effect, strings.Join(k.Values, " or "))
}

func (k Key) deleteMessage(req Request) string {
	flag := ""
	if ns := req.OldObject.Namespace; ns != "" {
		flag = " -n " + ns
	}
	return strings.NewReplacer(TargetPlace, Target(req.Resource, req.OldObject), NamespacePlace, flag).Replace(k.DeleteMessage())
}

// Target writes an object as kubectl takes it: deployments.apps/web.
func Target(r schema.GroupResource, o *metav1.PartialObjectMetadata) string {
	return r.String() + "/" + o.Name
}
