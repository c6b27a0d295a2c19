// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// effect is what a label does for an object. The texts are part of the output
// that scripts may read.
type effect string

const (
	effectProtected        effect = "protected"
	effectProtectedUnknown effect = "protected: unknown value"
	effectWhileUsed        effect = "protected while in use"
	effectHolds            effect = "protected: holds protected objects"
	effectControllers      effect = "protected, except from controllers"
	effectEmpty            effect = "not protected: empty"
	effectUnknown          effect = "not protected: unknown value"
	effectTerminating      effect = "not protected: being deleted"
	effectOverridden       effect = "not protected: override in force"
	effectBeyond           effect = "not protected: no policy is asked about this kind"
	effectNotInForce       effect = "not protected: label not in force"
	effectWarned           effect = "not protected: only warned"
	effectAudited          effect = "not protected: only audited"
	effectOutOfScope       effect = "not protected: namespace not in scope"
)

// protects says whether people are kept from deleting the object.
func (e effect) protects() bool {
	return slices.Contains([]effect{effectProtected, effectProtectedUnknown, effectWhileUsed, effectHolds, effectControllers}, e)
}

// effectOf says what a label that the object carries does, as the rules say.
func effectOf(e enforcement, k policy.Key, r schema.GroupResource, o *metav1.PartialObjectMetadata, at place) effect {
	value := k.Value(o)
	switch {
	case value == "":
		return effectEmpty
	case policy.BeyondAdmission(r):
		return effectBeyond
	case !k.Protects(r, value):
		return effectUnknown
	case !deletable(k, r, o, ""):
		return enforced(e, k, r, o, at)
	case o.DeletionTimestamp != nil:
		return effectTerminating
	default:
		// The only other reason to let somebody without a name delete it.
		return effectOverridden
	}
}

func enforced(e enforcement, k policy.Key, r schema.GroupResource, o *metav1.PartialObjectMetadata, at place) effect {
	if lacking := e.lacking(k.PolicyName(policy.RuleDelete), at); lacking != "" {
		return lacking
	}
	switch {
	case deletable(k, r, o, policy.ClusterControllers[0]):
		return effectControllers
	case k.WhileUsed(r, k.Value(o)):
		return effectWhileUsed
	case k.Mark == policy.MarkContents:
		return effectHolds
	case k.Mark == "" && !k.Knows(r, o.Labels[k.Label]):
		return effectProtectedUnknown
	}
	return effectProtected
}

// lacking says why a policy refuses nothing at a place; "" if it does.
func (e enforcement) lacking(name string, at place) effect {
	switch e.policyMode(name) {
	case configv1alpha1.ModeOff:
		return effectNotInForce
	case configv1alpha1.ModeAudit:
		return effectAudited
	case configv1alpha1.ModeWarn:
		return effectWarned
	}
	if in, err := e.holdsAt(name, at); err == nil && !in {
		return effectOutOfScope
	}
	return ""
}

// deletable says whether the rules let a user delete the object while it is in
// use.
func deletable(k policy.Key, r schema.GroupResource, o *metav1.PartialObjectMetadata, user string) bool {
	return policy.Rules{Keys: []policy.Key{k}}.Decide(policy.Request{
		Operation: admissionv1.Delete,
		Resource:  r,
		Namespace: o.Namespace,
		OldObject: o,
		Used:      true,
		User:      user,
	}).Allowed()
}
