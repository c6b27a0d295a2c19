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

// Policies see to it that nobody but Holdfast sets or changes a mark. Who may
// unprotect may take one away, so that there is a way when Holdfast is down; a
// Holdfast that runs puts back what still holds. There is one policy per mark,
// because an object selector cannot say "or", and an object without a mark must
// cost nothing.
//
// Only the labels count. The annotations must stay free: the deployment
// controller copies those of a Deployment to its ReplicaSets. The labels of a
// Service are copied too, to its Endpoints and EndpointSlices, by copiers.
func Policies(mode configv1alpha1.Mode, users []string) []admission.Policy {
	// By MarkedLabel Holdfast finds its marks again.
	keys := slices.Concat(v1alpha1.Marks, []string{v1alpha1.MarkedLabel})
	out := make([]admission.Policy, 0, len(keys)+1)
	for _, key := range keys {
		out = append(out, policy(key, mode, users))
	}
	return append(out, probePolicy(mode))
}

// copiers copy all labels of a Service, marks included. If they could not, the
// traffic of a marked Service would not follow its pods.
var copiers = []string{
	"system:kube-controller-manager",
	"system:serviceaccount:kube-system:endpoint-controller",
	"system:serviceaccount:kube-system:endpointslice-controller",
	"system:serviceaccount:kube-system:endpointslicemirroring-controller",
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
			MatchConstraints: onLabel(ProbeLabel, "*"),
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false",
				Message:    "the label " + ProbeLabel + " may not be set: by trying to, Holdfast finds out who asks its policies",
			}},
		},
	}
}

// onLabel matches the writing of objects that carry a label.
func onLabel(key, resources string) *admissionregistrationv1.MatchResources {
	all := []string{"*"}
	return &admissionregistrationv1.MatchResources{
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOpExists},
		}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: all, APIVersions: all, Resources: []string{resources}},
			},
		}},
	}
}

// PolicyName is the name of the policy of a mark.
func PolicyName(key string) string { return "holdfast-mark-" + key[strings.Index(key, "/")+1:] }

func policy(key string, mode configv1alpha1.Mode, users []string) admission.Policy {
	label := func(object string) string { return object + ".metadata.?labels[" + cel.String(key) + "].orValue('')" }
	return admission.Policy{
		Name: PolicyName(key),
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: onLabel(key, "*/*"),
			Variables: []admissionregistrationv1.Variable{
				{Name: "user", Expression: "request.userInfo.?username.orValue('')"},
				{Name: "kind", Expression: "request.resource.group + '/' + request.resource.resource"},
				{Name: "copied", Expression: "variables.kind in ['/endpoints', 'discovery.k8s.io/endpointslices'] && variables.user in " + cel.Strings(copiers)},
				// The labels of a binding land on its pod: there even an empty one takes a
				// mark away. What the pod carries is not known, so it is no label's value.
				{Name: "binding", Expression: "variables.kind == '/bindings' || variables.kind == '/pods' && request.?subResource.orValue('') == 'binding'"},
				{Name: "old", Expression: "request.operation == 'UPDATE' ? " + label("oldObject") + " : variables.binding ? '-' : ''"},
				{Name: "new", Expression: label("object")},
				admission.MayUnprotect(),
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "variables.new == variables.old || variables.copied || variables.user in " + cel.Strings(users) +
					" || variables.new == '' && variables.mayUnprotect",
				Message: fmt.Sprintf("the label %s is written by Holdfast alone; leave it out, and write it back as it was when you change the object. "+
					"Taking it away needs the RBAC verb %q on %s.%s in the object's namespace, or cluster-wide for a Namespace or an object without one",
					key, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName),
			}},
		},
	}
}
