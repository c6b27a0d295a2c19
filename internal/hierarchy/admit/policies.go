// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"cmp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// The policies; Holdfast may write these names and no others.
const (
	CopiesPolicyName     = "holdfast-hierarchy-copies"
	NamespacesPolicyName = "holdfast-hierarchy-namespaces"
	QuotasPolicyName     = "holdfast-hierarchy-quotas"
	UncheckedPolicyName  = "holdfast-hierarchy-unchecked"
)

// PolicyOptions are what the policies are made from.
type PolicyOptions struct {
	Settings settings.Settings
	// Resources are those of the kinds that are copied now, as they stand in the paths
	// of the API. Roles and RoleBindings need not be among them.
	Resources []schema.GroupResource
	// Users are the names under which Holdfast itself asks.
	Users []string
}

// Policies are the rules about trees of namespaces that the API server runs.
func Policies(o PolicyOptions) []admission.Policy {
	out := []admission.Policy{copiesPolicy(o), namespacesPolicy(o), quotasPolicy(), uncheckedPolicy(o)}
	for i := range out {
		out[i].Mode = modeOf(o.Settings)
	}
	return out
}

// modeOf the verdicts. Who stands by refuses nothing.
func modeOf(s settings.Settings) configv1alpha1.Mode {
	if !s.Active() {
		return configv1alpha1.ModeOff
	}
	return s.Mode
}

// copied are the resources of all kinds that are copied, by their groups, in an order
// that is always the same.
func copied(resources []schema.GroupResource) (groups []string, byGroup map[string][]string) {
	const rbac = "rbac.authorization.k8s.io"
	all := append([]schema.GroupResource{{Group: rbac, Resource: "roles"}, {Group: rbac, Resource: "rolebindings"}}, resources...)
	slices.SortFunc(all, func(a, b schema.GroupResource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	byGroup = map[string][]string{}
	for _, r := range slices.Compact(all) {
		if byGroup[r.Group] == nil {
			groups = append(groups, r.Group)
		}
		byGroup[r.Group] = append(byGroup[r.Group], r.Resource)
	}
	return groups, byGroup
}

func rule(group string, resources []string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
	}
}

func named(rules ...admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.NamedRuleWithOperations {
	out := make([]admissionregistrationv1.NamedRuleWithOperations, 0, len(rules))
	for _, r := range rules {
		out = append(out, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r})
	}
	return out
}

// quotasPolicy refuses quotas of trees, since nobody would enforce them. One that is
// on its way out can be let go.
func quotasPolicy() admission.Policy {
	const quotas = hncv1alpha2.ResourceHierarchicalResourceQuotas
	return admission.Policy{
		Name: QuotasPolicyName,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: named(
				rule(hncv1alpha2.GroupName, []string{quotas}, admissionregistrationv1.Create, admissionregistrationv1.Update),
				rule(hncv1alpha2.GroupName, []string{quotas + "/*"}, admissionregistrationv1.Update),
			)},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "has(object.metadata.deletionTimestamp)",
				Message: "Holdfast does not enforce quotas of trees of namespaces, so none can be made or changed: " +
					"delete the HierarchicalResourceQuota, and use a ResourceQuota in each namespace",
			}},
		},
	}
}

// visibly says in CEL that a namespace stands in a tree as far as it shows: it is a
// subnamespace, an ancestor is in its labels, or Holdfast has marked it as a root
// with subnamespaces.
func visibly(object string) string {
	return strings.Join([]string{
		annotation(object, hncv1alpha2.AnnotationSubnamespaceOf) + " != ''",
		labels(object) + ".exists(k, k.endsWith(" + cel.String(hncv1alpha2.LabelTreeDepthSuffix) + ") && k != " +
			object + ".metadata.name + " + cel.String(hncv1alpha2.LabelTreeDepthSuffix) + ")",
		cel.String(v1alpha1.HasSubnamespacesMark) + " in " + labels(object),
	}, " || ")
}
