// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// Policies refuse an UPDATE that binds marks to an object, or changes marks that are bound to it, unless one of users
// sends it. A user with the verb unprotect may remove marks, so that an administrator can while Holdfast is down; while
// it runs, Holdfast writes the marks again that still apply.
//
// A CREATE is never refused: the API server generates the UID after it got the request, so the marks of a copy or of a
// restored backup are not bound to the new object.
//
// Of the annotations they cover only those that policies read: the deployment controller copies the annotations of a
// Deployment to its ReplicaSets. The labels of a Service are copied too, to its Endpoints and EndpointSlices, by copiers.
func Policies(mode configv1alpha1.Mode, users []string) []admission.Policy {
	return []admission.Policy{boundPolicy(mode, users), bindingPolicy(mode), probePolicy(mode)}
}

// Names of the policies. They are part of every refusal that users see.
const (
	PolicyName        = "holdfast-marks"
	BindingPolicyName = "holdfast-marks-binding"
)

// Bound is v1alpha1.Marked as a CEL expression. The type of namespaceObject does not declare metadata.uid, though its
// values have it; hence dyn.
func Bound(object string) string { return boundTo(object, object) }

func boundTo(object, uidOf string) string {
	return object + ".metadata.?labels[" + cel.String(v1alpha1.MarkedLabel) + "].orValue('') == dyn(" + uidOf + ").metadata.?uid.orValue('-')"
}

// copiers are the controllers that copy all labels of a Service to its Endpoints and EndpointSlices. If the policy
// refused that, these would not be updated any more. The policy does not let copiers bind marks: every editor of a
// Service could have them copy a label with the UID of its EndpointSlice.
var copiers = []string{
	controllerManager,
	"system:serviceaccount:kube-system:endpoint-controller",
	"system:serviceaccount:kube-system:endpointslice-controller",
	"system:serviceaccount:kube-system:endpointslicemirroring-controller",
}

// annotationCopiers are those that copy annotations to ReplicaSets, which they may delete anyway.
var annotationCopiers = []string{controllerManager, "system:serviceaccount:kube-system:deployment-controller"}

// controllerManager is the user of controllers that have no accounts of their own.
const controllerManager = "system:kube-controller-manager"

// textMayRemove ends the message of the policy.
var textMayRemove = fmt.Sprintf("Removing them needs the RBAC verb %q on %s.%s in the object's namespace, or cluster-wide for a Namespace or an object without one",
	v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)

// keys are the label keys that the policies guard, and guarded the annotations.
var (
	keys    = slices.Concat(v1alpha1.Marks, []string{v1alpha1.MarkedLabel})
	guarded = labelsAnnotations()
)

func labelsAnnotations() (out []string) {
	for _, mark := range v1alpha1.SelectedMarks {
		out = append(out, v1alpha1.LabelsAnnotation(mark))
	}
	return out
}

// changedKeys is a CEL list of the marks that an UPDATE changes, and changedAnnotations one of the annotations.
var (
	changedKeys        = cel.Strings(keys) + ".filter(k, " + label("object") + " != " + label("oldObject") + ")"
	changedAnnotations = cel.Strings(guarded) + ".filter(k, " + annotation("object") + " != " + annotation("oldObject") + ")"
)

func label(object string) string { return object + ".metadata.?labels[?k].orValue('')" }

func annotation(object string) string { return object + ".metadata.?annotations[?k].orValue('')" }

// mayRemove is a CEL expression: whether the user may remove marks.
var mayRemove = admission.MayUnprotect().Expression

// changes is a CEL expression: true for an UPDATE that changes marks which are bound to the object before or after it,
// unless its user is in users, or it only removes marks and mayRemove is true.
func changes(users []string, mayRemove string) string {
	user, kind := "request.userInfo.?username.orValue('')", "request.resource.group + '/' + request.resource.resource"
	binds := boundTo("object", "oldObject") // a PUT may leave out the UID, which the API server adds after the webhooks
	return strings.Join([]string{
		"(size(" + changedKeys + ") > 0 || size(" + changedAnnotations + ") > 0 && !(" + kind + " == 'apps/replicasets' && " + user + " in " + cel.Strings(annotationCopiers) + "))",
		"(" + Bound("oldObject") + " || " + binds + ")",
		"!(" + user + " in " + cel.Strings(users) + ")",
		"!(" + kind + " in ['/endpoints', 'discovery.k8s.io/endpointslices'] && " + user + " in " + cel.Strings(copiers) + " && !(" + binds + "))",
		"!(" + changedKeys + ".all(k, " + label("object") + " == '') && " + changedAnnotations + ".all(k, " + annotation("object") + " == '') && " + mayRemove + ")",
	}, " && ")
}

// boundPolicy matches only objects with MarkedLabel, before or after the change: on others no mark is bound.
func boundPolicy(mode configv1alpha1.Mode, users []string) admission.Policy {
	return admission.Policy{
		Name: PolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: onLabel(v1alpha1.MarkedLabel, "*/*", admissionregistrationv1.Update),
			Validations: []admissionregistrationv1.Validation{{
				Expression:        "!(" + changes(users, mayRemove) + ")",
				MessageExpression: "'the labels ' + (" + changedKeys + " + " + changedAnnotations + ").join(', ') + " + cel.String(" are marks of Holdfast, which this update must not change. "+textMayRemove),
				Message:           "the marks of Holdfast on this object are written by Holdfast alone",
			}},
		},
	}
}

// bindingPolicy is for the one CREATE that changes an existing object: the API server copies the labels and annotations of
// a Binding to its pod, where an empty value removes a mark.
func bindingPolicy(mode configv1alpha1.Mode) admission.Policy {
	return admission.Policy{
		Name: BindingPolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
				rule("", "pods/binding", admissionregistrationv1.Create), rule("", "bindings", admissionregistrationv1.Create),
			}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "!" + cel.Strings(keys) + ".exists(k, k in object.metadata.?labels.orValue({})) && " +
					"!" + cel.Strings(guarded) + ".exists(k, k in object.metadata.?annotations.orValue({}))",
				Message: "the API server copies a binding's labels and annotations to its pod, so they must not include marks of Holdfast; remove them from the binding",
			}},
		},
	}
}

// ProbeLabel may not be put on any object. By trying to, Holdfast finds out
// whether an extension API server asks the cluster's policies.
const ProbeLabel = "holdfast.dev/admission-probe"

// probePolicyName is the policy that refuses ProbeLabel.
const probePolicyName = "holdfast-probe"

// RefusedProbe says whether an error is the refusal of ProbeLabel.
func RefusedProbe(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'"+probePolicyName+"'")
}

func probePolicy(mode configv1alpha1.Mode) admission.Policy {
	return admission.Policy{
		Name: probePolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: onLabel(ProbeLabel, "*", admissionregistrationv1.Create, admissionregistrationv1.Update),
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false",
				Message:    "the label " + ProbeLabel + " may not be set: by trying to, Holdfast finds out who asks its policies",
			}},
		},
	}
}

// onLabel matches requests for objects that carry a label, before or after.
func onLabel(key, resources string, operations ...admissionregistrationv1.OperationType) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOpExists},
		}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule("*", resources, operations...)},
	}
}

func rule(group, resources string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
	return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resources}},
	}}
}
