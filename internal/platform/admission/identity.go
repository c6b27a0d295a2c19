// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

const (
	// IdentityPolicyName is the policy for what gives somebody Holdfast's identity, in
	// its namespace.
	IdentityPolicyName = "holdfast-self-identity"
	// BindingsPolicyName is the policy for what gives somebody Holdfast's rights.
	BindingsPolicyName = "holdfast-self-bindings"
)

// The leases of the workloads, in the namespace of Holdfast.
const (
	GuardLease = "holdfast-guard"
	SyncLease  = "holdfast-sync"
)

// leases are the rule and the validation for the leases: who holds one keeps all replicas from writing. That of the guard is
// for who may change this policy, which the guard may under whatever name it runs, also after that has changed.
func (s Self) leases() (admissionregistrationv1.NamedRuleWithOperations, admissionregistrationv1.Validation) {
	rule := ruleFor("coordination.k8s.io", []string{"leases"}, admissionregistrationv1.Create, admissionregistrationv1.Update)
	rule.ResourceNames = []string{GuardLease, SyncLease}
	return rule, admissionregistrationv1.Validation{
		Expression: "variables.kind != 'leases' || request.name == " + cel.String(SyncLease) + " && request.userInfo.username == " + cel.String(s.SyncUser) + " || authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies').name(" +
			cel.String(IdentityPolicyName) + ").check('update').allowed() || variables.mayOperate",
		Message: "who takes a lease of Holdfast's keeps Holdfast from acting" + needsOperate,
	}
}

// workloadControllers make pods from what they were told by others, who were asked
// then.
var workloadControllers = []string{
	"system:kube-controller-manager",
	"system:serviceaccount:kube-system:cronjob-controller",
	"system:serviceaccount:kube-system:daemon-set-controller",
	"system:serviceaccount:kube-system:deployment-controller",
	"system:serviceaccount:kube-system:job-controller",
	"system:serviceaccount:kube-system:replicaset-controller",
	"system:serviceaccount:kube-system:replication-controller",
	"system:serviceaccount:kube-system:statefulset-controller",
}

// templated are kinds with a template for pods.
var templated = []string{"replicationcontrollers", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs"}

// mayOperate is a policy's variable: whether the user may act with Holdfast's identity.
func mayOperate() admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "mayOperate",
		Expression: fmt.Sprintf("authorizer.group(%s).resource(%s).check(%s).allowed()",
			cel.String(v1alpha1.GroupName), cel.String(v1alpha1.OperateResource), cel.String(v1alpha1.OperateVerb)),
	}
}

// needsOperate ends every refusal of what mayOperate is asked for.
var needsOperate = fmt.Sprintf("; that needs the RBAC verb %q on %s.%s, cluster-wide, which cluster administrators hold",
	v1alpha1.OperateVerb, v1alpha1.OperateResource, v1alpha1.GroupName)

// Policies are all of self-protection.
func (s Self) Policies() []Policy { return []Policy{s.Policy(), s.identity(), s.bindings()} }

// identity keeps from everybody who may not operate Holdfast what would let them act as
// it, in its namespace: tokens of its accounts, pods, what pods are made from, a way
// into pods or past them to its ports, roles, and the lease of the guard. Kubelets fetch the tokens of their
// pods, and the node authorizer sees to it that those are theirs; controllers make
// pods from what somebody was let write here. What changes no template and no subject
// passes: marks, the number of replicas, statuses. Reads are nothing that admission
// sees, and nothing that takes away is refused, so that an uninstall never is.
func (s Self) identity() Policy {
	both := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	connect := []admissionregistrationv1.OperationType{admissionregistrationv1.Connect}
	// spec is what pods are made from, in the old object and in the new one.
	spec := func(object string) string {
		return "(variables.kind == 'cronjobs' ? dyn(" + object + ").spec.jobTemplate" +
			" : variables.kind in " + cel.Strings(templated) + " ? dyn(" + object + ").spec.template" +
			" : dyn(" + object + ").spec)"
	}
	lease, validLease := s.leases()
	runs := slices.Concat([]string{"pods", "pods/ephemeralcontainers", "cronjobs"}, templated)
	return Policy{
		Name: IdentityPolicyName,
		Mode: s.Mode,
		Scope: scope.Selection{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{s.Namespace},
		}}}},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
				ruleFor("", []string{"serviceaccounts/token", "pods", "pods/ephemeralcontainers", "replicationcontrollers", "secrets"}, both...),
				ruleFor("", []string{"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"}, connect...),
				ruleFor("apps", []string{"deployments", "replicasets", "statefulsets", "daemonsets"}, both...),
				ruleFor("batch", []string{"jobs", "cronjobs"}, both...),
				ruleFor("rbac.authorization.k8s.io", []string{"rolebindings"}, both...),
				lease,
			}},
			Variables: []admissionregistrationv1.Variable{
				{Name: "kind", Expression: "request.resource.resource + (request.?subResource.orValue('') == '' ? '' : '/' + request.subResource)"},
				{Name: "user", Expression: "request.userInfo.?username.orValue('')"},
				{Name: "isUpdate", Expression: "request.operation == 'UPDATE'"},
				mayOperate(),
			},
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: "variables.kind != 'serviceaccounts/token' || 'system:nodes' in request.userInfo.?groups.orValue([]) || variables.mayOperate",
					Message:    "a token of this ServiceAccount is as good as a cluster administrator's" + needsOperate,
				},
				{
					Expression: strings.Join([]string{
						"variables.kind != 'secrets'",
						"dyn(object).?type.orValue('') != 'kubernetes.io/service-account-token'",
						"variables.isUpdate && " + tokenOf("oldObject") + " == " + tokenOf("object"),
						"variables.mayOperate",
					}, " || "),
					Message: "a token of a ServiceAccount of Holdfast would be put into this Secret" + needsOperate,
				},
				{
					Expression: strings.Join([]string{
						"!(variables.kind in " + cel.Strings(runs) + ")",
						"variables.isUpdate && " + spec("oldObject") + " == " + spec("object"),
						"variables.user in " + cel.Strings(workloadControllers),
						"variables.mayOperate",
					}, " || "),
					Message: "whoever runs pods in Holdfast's namespace can act as Holdfast" + needsOperate,
				},
				{
					Expression: "request.operation != 'CONNECT' || variables.mayOperate",
					Message:    "whoever gets into Holdfast's pods can act as Holdfast" + needsOperate,
				},
				{
					Expression: "variables.kind != 'rolebindings' || " + sameSubjects + " || variables.mayOperate",
					Message:    "a role in Holdfast's namespace can let somebody act as Holdfast" + needsOperate,
				},
				validLease,
			},
		},
	}
}

// bindings keeps Holdfast's ClusterRoles from being bound to others, and its own
// bindings from being changed, by who may bind roles and may not operate Holdfast.
func (s Self) bindings() Policy {
	return Policy{
		Name: BindingsPolicyName,
		Mode: s.Mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
				ruleFor("rbac.authorization.k8s.io", []string{"clusterrolebindings", "rolebindings"},
					admissionregistrationv1.Create, admissionregistrationv1.Update),
			}},
			Variables: []admissionregistrationv1.Variable{
				{Name: "isUpdate", Expression: "request.operation == 'UPDATE'"},
				mayOperate(),
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: strings.Join([]string{
					"object.roleRef.kind != 'ClusterRole'",
					"!(object.roleRef.name.startsWith('holdfast-guard') || object.roleRef.name.startsWith('holdfast-sync'))",
					sameSubjects,
					"variables.mayOperate",
				}, " || "),
				Message: "this binding gives the rights of Holdfast, which are as good as a cluster administrator's" + needsOperate,
			}},
		},
	}
}

// sameSubjects says that a binding binds whom it bound before; its role cannot change.
const sameSubjects = "variables.isUpdate && dyn(oldObject).?subjects.orValue([]) == dyn(object).?subjects.orValue([])"

// tokenOf is the account whose token a Secret is for.
func tokenOf(object string) string {
	return "dyn(" + object + ").metadata.?annotations['" + corev1.ServiceAccountNameKey + "'].orValue('')"
}

// ruleFor is a rule for all versions of a group.
func ruleFor(group string, resources []string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
	return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
	}}
}
