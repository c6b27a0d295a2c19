// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/crds"
)

// SelfPolicyName is the policy that protects what Holdfast itself needs.
const SelfPolicyName = "holdfast-self"

// Self is what self-protection needs to know.
type Self struct {
	Mode configv1alpha1.Mode
	// Namespace that Holdfast is installed in.
	Namespace string
	// Users are the names under which Holdfast itself asks.
	Users []string
	// ConfigMap with the configuration in that namespace; empty if there is none.
	ConfigMap string
	// CRDGroups are the API groups of Holdfast's own CustomResourceDefinitions, which
	// the policy lets no user delete, and FeatureCRDGroups those of others that it applies as well.
	CRDGroups, FeatureCRDGroups []string
	// SyncUser is the name under which the sync asks, and SyncCRDGroups are the API groups of the CustomResourceDefinitions
	// that it applies. Another product can bring those too, so that only what the sync has applied is Holdfast's.
	SyncUser      string
	SyncCRDGroups []string
}

// StopCommands stop Holdfast: the policy refuses the second without the first.
const StopCommands = "kubectl annotate clusterrole " + AnchorName + " " + v1alpha1.StopAnnotation + "=" + AnchorName +
	" && kubectl delete clusterrole " + AnchorName

// selfRemedy ends every refusal. It says what the commands do, because a user who reads it may only have mistyped a name.
const selfRemedy = " To stop Holdfast, and with it ALL of its protection, as before an uninstall, run: " + StopCommands

// Policy protects Holdfast's webhook configurations from change and deletion, and its CRDs, its namespace and its anchor
// from deletion. The API server asks no policy about policies and bindings; the Reconciler restores those. A user who may
// update and delete ClusterRoles stops Holdfast with StopCommands: the garbage collector deletes this policy with the
// anchor. An accident, such as the prune of a GitOps tool or a wrong "helm uninstall", does not annotate the anchor first.
//
// An update of a CRD can empty or hide all of its objects, so it needs the verb operate, as an installation does. The
// controllers of the API server write the status, which is a resource of its own and changes no spec.
//
// The configuration can turn every rule off, so changing it needs the right to
// take every protection away: the verb unprotect, cluster-wide.
func (s Self) Policy() Policy {
	// The garbage collector removes the webhook configurations when the anchor
	// goes, or takes the owner off it; nobody else can give it an owner.
	collectors := []string{"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"}
	return Policy{
		Name: SelfPolicyName,
		Mode: s.Mode,
		Echo: HelmRelease(),
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: s.rules(),
			},
			Variables: []admissionregistrationv1.Variable{
				{Name: "kind", Expression: "request.resource.resource"},
				{Name: "anchor", Expression: "variables.kind == 'clusterroles' && oldObject.metadata.name == " + cel.String(AnchorName)},
				{Name: "own", Expression: "request.userInfo.username in " + cel.Strings(s.Users)},
				mayOperate(),
			},
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: strings.Join([]string{
						"!(variables.kind in ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'])",
						"oldObject.metadata.name != " + cel.String(WebhookConfigurationName),
						"variables.own",
						"request.userInfo.username in " + cel.Strings(collectors),
					}, " || "),
					Message: "Holdfast writes this webhook configuration itself, from its own configuration; change that instead." + selfRemedy,
				},
				{
					Expression: "variables.kind != 'customresourcedefinitions' || request.operation != 'DELETE' || !(oldObject.spec.group in " + cel.Strings(s.CRDGroups) + ")",
					Message:    "Holdfast needs this CustomResourceDefinition while it is installed." + selfRemedy,
				},
				{
					Expression: strings.Join([]string{
						"variables.kind != 'customresourcedefinitions'",
						"request.operation != 'UPDATE'",
						"!(oldObject.spec.group in " + cel.Strings(slices.Concat(s.CRDGroups, s.FeatureCRDGroups)) + " || " +
							"oldObject.spec.group in " + cel.Strings(s.SyncCRDGroups) + " && " + annotation("oldObject", crds.VersionAnnotation) + " != '')",
						"object.spec == oldObject.spec && " + annotation("object", crds.VersionAnnotation) + " == " + annotation("oldObject", crds.VersionAnnotation) +
							" && object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])",
						"variables.own",
						"oldObject.spec.group in " + cel.Strings(s.SyncCRDGroups) + " && request.userInfo.username == " + cel.String(s.SyncUser),
						"variables.mayOperate",
					}, " || "),
					Message: "Holdfast applies this CustomResourceDefinition itself, and another schema can empty or hide all of its objects" + needsOperate,
				},
				{
					Expression: "variables.kind != 'namespaces' || oldObject.metadata.name != " + cel.String(s.Namespace),
					Message:    "Holdfast is installed in this namespace." + selfRemedy,
				},
				{
					Expression: "!(variables.anchor && request.operation == 'DELETE') || " + annotation("oldObject", v1alpha1.StopAnnotation) + " == " + cel.String(AnchorName),
					Message:    "all rules of Holdfast are deleted with this ClusterRole." + selfRemedy,
				},
				{
					Expression: "!(variables.anchor && request.operation == 'UPDATE') || " +
						"object.metadata.?ownerReferences.orValue([]).all(n, oldObject.metadata.?ownerReferences.orValue([]).exists(o, o.uid == n.uid)) && " +
						"object.metadata.?finalizers.orValue([]).all(f, f in oldObject.metadata.?finalizers.orValue([]))",
					Message: "this ClusterRole takes no owners and no finalizers, so that nothing else decides when Holdfast is stopped",
				},
				{
					Expression: strings.Join([]string{
						"variables.kind != 'configmaps'",
						"(request.operation == 'CREATE' ? object : oldObject).metadata.name != " + cel.String(s.ConfigMap),
						"request.namespace != " + cel.String(s.Namespace),
						"request.operation == 'UPDATE' && " + unchangedConfiguration,
						fmt.Sprintf("authorizer.group(%s).resource(%s).check(%s).allowed()",
							cel.String(v1alpha1.GroupName), cel.String(v1alpha1.UnprotectResource), cel.String(v1alpha1.UnprotectVerb)),
					}, " || "),
					Message: fmt.Sprintf("this is Holdfast's configuration, which can turn every protection off; changing it needs the RBAC verb %q on %s.%s, cluster-wide",
						v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName),
				},
			},
		},
	}
}

// protecting are the labels that would keep the ConfigMap with the configuration from those who must delete it.
var protecting = []string{v1alpha1.DeletionProtectedLabel, v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel}

// unchangedConfiguration is a CEL expression: whether an update of the ConfigMap changes only its other metadata.
var unchangedConfiguration = "object.?data.orValue({}) == oldObject.?data.orValue({}) && object.?binaryData.orValue({}) == oldObject.?binaryData.orValue({}) && " +
	"object.?immutable.orValue(false) == oldObject.?immutable.orValue(false) && " +
	cel.Strings(protecting) + ".all(k, object.metadata.?labels[?k] == oldObject.metadata.?labels[?k])"

// annotation is the value of one, or nothing.
func annotation(object, key string) string {
	return object + ".metadata.?annotations[" + cel.String(key) + "].orValue('')"
}

// rules name the object where they can, so that nobody else's update is looked at: ConfigMaps
// are written all the time. A deletion may be one of a collection, which has no name.
func (s Self) rules() []admissionregistrationv1.NamedRuleWithOperations {
	webhooks := []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}
	changed := ruleFor("admissionregistration.k8s.io", webhooks, admissionregistrationv1.Update)
	changed.ResourceNames = []string{WebhookConfigurationName}
	anchored := ruleFor("rbac.authorization.k8s.io", []string{"clusterroles"}, admissionregistrationv1.Update)
	anchored.ResourceNames = []string{AnchorName}
	out := []admissionregistrationv1.NamedRuleWithOperations{
		changed,
		ruleFor("admissionregistration.k8s.io", webhooks, admissionregistrationv1.Delete),
		ruleFor("apiextensions.k8s.io", []string{"customresourcedefinitions"}, admissionregistrationv1.Update, admissionregistrationv1.Delete),
		ruleFor("", []string{"namespaces"}, admissionregistrationv1.Delete),
		ruleFor("rbac.authorization.k8s.io", []string{"clusterroles"}, admissionregistrationv1.Delete),
		anchored,
	}
	if s.ConfigMap == "" {
		return out
	}
	configured := ruleFor("", []string{"configmaps"}, admissionregistrationv1.Create, admissionregistrationv1.Update)
	configured.ResourceNames = []string{s.ConfigMap}
	return append(out, configured, ruleFor("", []string{"configmaps"}, admissionregistrationv1.Delete))
}
