// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// PolicyName is the name of the policy that Policy makes.
const PolicyName = "holdfast-self-sync"

// Policy bounds what the identity of the sync can write to what a sync writes: RBAC cannot, as the names that it needs
// have random parts. It binds roles to accounts of RootSyncs alone, changes and deletes only such bindings and accounts,
// and changes nothing of a Namespace but the claims. It decides as Binding.owner does. What is applied for a RootSync is
// written by another identity, which the policy does not look at.
func Policy(mode configv1alpha1.Mode, user string) admission.Policy {
	all := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}
	rule := func(group string, resources []string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: operations,
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
		}}
	}
	const (
		bindings = "variables.kind in ['rolebindings', 'clusterrolebindings']"
		accounts = "variables.kind == 'serviceaccounts'"
		deletes  = "request.operation == 'DELETE'"
		creates  = "request.operation == 'CREATE'"
	)
	const hint = ": if the sync of Holdfast did not send this request, somebody else has its token"
	return admission.Policy{
		Name: PolicyName,
		Mode: mode,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
				rule("rbac.authorization.k8s.io", []string{"rolebindings", "clusterrolebindings"}, all...),
				rule("", []string{"serviceaccounts"}, all...),
				rule("", []string{"namespaces", "namespaces/status", "namespaces/finalize"}, admissionregistrationv1.Update),
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "by-the-sync", Expression: "request.userInfo.?username.orValue('') == " + cel.String(user),
			}},
			Variables: []admissionregistrationv1.Variable{
				{Name: "kind", Expression: "request.resource.resource"},
				{Name: "old", Expression: deletes + " || request.operation == 'UPDATE' ? dyn(oldObject) : dyn(object)"},
				{Name: "new", Expression: deletes + " ? dyn(oldObject) : dyn(object)"},
			},
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: "!(" + bindings + ") || " + creates + " || " + isOwned("variables.old") + " || !(" + deletes + ") && " + binds("variables.old"),
					Message:    "the sync changes and deletes only the bindings of RootSyncs" + hint,
				},
				{
					Expression: "!(" + bindings + ") || " + deletes + " || " + isOwned("variables.new") + " && variables.new.?subjects.orValue([]).all(s, " + isSubject("s") + ")",
					Message:    "the sync binds roles to the accounts of RootSyncs alone" + hint,
				},
				{
					Expression: "!(" + accounts + ") || variables.old.metadata.namespace == " + cel.String(object.SyncNamespace) + " && " + isAccount("variables.old.metadata.name"),
					Message:    "the sync writes only the ServiceAccounts of RootSyncs" + hint,
				},
				{
					Expression: "variables.kind != 'namespaces' || " + sameButClaims("variables.old", "variables.new"),
					Message:    "the sync changes nothing of a Namespace but the annotation " + v1alpha1.ClaimsAnnotation + hint,
				},
			},
		},
	}
}

// isOwned is Binding.owner as a CEL expression: whether a binding is the one of a RootSync, or that of all.
func isOwned(o string) string {
	return "(" + o + ".metadata.?namespace.orValue('') == '' && " + o + ".metadata.name == " + cel.String(AdminBinding) +
		" ? " + o + ".roleRef.kind == 'ClusterRole' && " + o + ".roleRef.name == " + cel.String(adminRole) +
		" : size(" + o + ".?subjects.orValue([])) == 1 && " + binds(o) + ")"
}

// binds is whether one of the subjects of a binding is the account of a RootSync by which the binding is named.
func binds(o string) string {
	return o + ".?subjects.orValue([]).exists(s, " + isSubject("s") + " && " + o + ".metadata.name.startsWith(s.name + '-'))"
}

func isSubject(s string) string {
	return "(" + strings.Join([]string{
		s + ".kind == 'ServiceAccount'", s + ".?apiGroup.orValue('') == ''",
		s + ".?namespace.orValue('') == " + cel.String(object.SyncNamespace), isAccount(s + ".name"),
	}, " && ") + ")"
}

// isAccount is whether a name is that of the account of a RootSync.
func isAccount(name string) string {
	of := object.Sync(configsyncv1beta1.DefaultRootSync).Reconciler()
	return "(" + name + " == " + cel.String(of) + " || " + name + ".startsWith(" + cel.String(of+"-") + ") && " +
		name + " != " + cel.String(of+"-"+configsyncv1beta1.DefaultRootSync) + ")"
}

// sameButClaims is whether two forms of a Namespace differ in the claims alone.
func sameButClaims(before, after string) string {
	field := func(name, none string) string {
		return before + "." + name + ".orValue(" + none + ") == " + after + "." + name + ".orValue(" + none + ")"
	}
	annotations := func(o string) string { return o + ".metadata.?annotations.orValue({})" }
	among := func(a, b string) string {
		return a + ".all(k, k == " + cel.String(v1alpha1.ClaimsAnnotation) + " || k in " + b + " && " + b + "[k] == " + a + "[k])"
	}
	return strings.Join([]string{
		field("metadata.?labels", "{}"), field("metadata.?ownerReferences", "[]"), field("metadata.?finalizers", "[]"), field("?spec", "{}"), field("?status", "{}"),
		among(annotations(before), annotations(after)), among(annotations(after), annotations(before)),
	}, " && ")
}
