// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// Names of the webhooks, which users see in refusals. HNC's have its names. It had one for all namespaces where there
// are three here, and none for what is restored.
const (
	hierarchyName     = "hierarchyconfigurations.hnc.x-k8s.io"
	anchorName        = "subnamespaceanchors.hnc.x-k8s.io"
	configurationName = "hncconfigurations.hnc.x-k8s.io"
	// NamespaceName is that of the webhook for the deletion of namespaces that visibly
	// stand in a tree, which fails closed.
	NamespaceName      = "namespaces.hnc.x-k8s.io"
	otherNamespaceName = "other-namespaces.hnc.x-k8s.io"
	newNamespaceName   = "new-namespaces.hnc.x-k8s.io"
	objectName         = "objects.hnc.x-k8s.io"
	labelName          = "namespacelabel.hnc.x-k8s.io"

	restoredNamespaceName = "restored-namespaces.hnc.x-k8s.io"
	restoredObjectName    = "restored-objects.hnc.x-k8s.io"
)

const (
	closedTimeout = 10 * time.Second
	// openTimeout is how long requests wait where an answer is not needed.
	openTimeout = 5 * time.Second
)

// WebhookOptions are what the webhooks are made from.
type WebhookOptions struct {
	Settings settings.Settings
	// Resources are those of the kinds that are copied now, as in PolicyOptions.
	Resources []schema.GroupResource
	// Users are the names under which Holdfast itself asks.
	Users []string
	// External says that there are external namespaces, whose trees the name of a new
	// namespace could stand in. Without any, new namespaces are not asked about.
	External bool
}

// webhook is what is declared of one.
type webhook struct {
	name, path string
	handler    *handler
	rules      []admissionregistrationv1.RuleWithOperations
	conditions []admissionregistrationv1.MatchCondition
	objects    *metav1.LabelSelector
	managed    bool // only in managed namespaces
	mutating   bool
	off        bool
}

// Webhooks are those about trees of namespaces. It declares all of them, those that
// are off too, so that each is served when it is turned on. While no replica answers,
// users notice: hierarchies, anchors and the HNCConfiguration cannot be changed, and
// namespaces that visibly stand in a tree cannot be deleted, but by the annotation
// holdfast.dev/delete-unchecked. The others let everything pass.
func (h *Handlers) Webhooks(o WebhookOptions) []admission.Webhook {
	const (
		create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
		remove         = admissionregistrationv1.Delete
		hnc            = hncv1alpha2.GroupName
	)
	namespaces := func(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{rule("", []string{"namespaces"}, operations...)}
	}
	own := func(resource string, conditions ...admissionregistrationv1.MatchCondition) webhook {
		return webhook{
			path:       "/validate-hnc-x-k8s-io-v1alpha2-" + resource,
			rules:      []admissionregistrationv1.RuleWithOperations{rule(hnc, []string{resource}, create, update, remove)},
			conditions: conditions,
		}
	}
	hierarchy := own(hncv1alpha2.ResourceHierarchyConfigurations, changes("spec", "metadata.ownerReferences"), notEmptied)
	hierarchy.name, hierarchy.handler = hierarchyName, h.hierarchy
	anchor := own(hncv1alpha2.ResourceSubnamespaceAnchors, changes("spec"), notEmptied)
	anchor.name, anchor.handler = anchorName, h.anchor
	configuration := own(hncv1alpha2.ResourceHNCConfigurations, changes("spec"))
	configuration.name, configuration.handler = configurationName, h.configuration

	all := []webhook{
		hierarchy, anchor, configuration,
		{
			name: NamespaceName, path: "/validate-v1-namespace", handler: h.namespace, managed: true, rules: namespaces(remove),
			conditions: []admissionregistrationv1.MatchCondition{
				stands, {Name: "in-a-tree", Expression: visibly("oldObject")}, {Name: "checked", Expression: "!(" + unchecked + ")"},
			},
		},
		{
			// Its tree shows a moment later than the anchor that makes it.
			name: otherNamespaceName, path: "/validate-v1-namespace-other", handler: h.otherNamespace, managed: true, rules: namespaces(remove),
			conditions: []admissionregistrationv1.MatchCondition{
				stands, {Name: "in-no-tree", Expression: "!(" + visibly("oldObject") + ")"},
			},
		},
		{
			name: newNamespaceName, path: "/validate-v1-namespace-new", handler: h.newNamespace, off: !o.External, rules: namespaces(create),
		},
		{
			name: objectName, path: "/validate-objects", handler: h.object, managed: true, rules: objectRules(o.Resources, create, update),
			// An object with finalizers is not copied yet, nor is a RoleBinding with the account of a RootSync among its subjects.
			conditions: []admissionregistrationv1.MatchCondition{changes("metadata.labels", "metadata.annotations", "metadata.finalizers", "subjects")},
			objects: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: hncv1alpha2.LabelInheritedFrom, Operator: metav1.LabelSelectorOpDoesNotExist}, // the policy has those
			}},
		},
		{
			// The API server calls webhooks in this order, so this one comes before the label that the next one adds.
			name: restoredNamespaceName, path: "/mutate-restored-namespace", handler: h.restoredNamespace, mutating: true, rules: namespaces(create),
			conditions: []admissionregistrationv1.MatchCondition{{
				Name: "trusted-labels",
				Expression: labels("object") + ".exists(k, k.contains(" + cel.String(hncv1alpha2.LabelTreeDepthSuffix) + ") || k in " +
					cel.Strings([]string{v1alpha1.HasSubnamespacesMark, hncv1alpha2.LabelIncludedNamespace, hncv1alpha2.LabelExcludedNamespace}) + ")",
			}},
		},
		{
			name: labelName, path: "/mutate-namespace", handler: h.label, managed: true, mutating: true, rules: namespaces(create, update),
			conditions: []admissionregistrationv1.MatchCondition{
				// A name that the API server makes up is not known yet.
				{Name: "named", Expression: "object.metadata.?name.orValue('') != ''"},
				{Name: "unlabelled", Expression: "!(" + cel.String(hncv1alpha2.LabelIncludedNamespace) + " in " + labels("object") + ")"},
			},
		},
		{
			name: restoredObjectName, path: "/mutate-restored-object", handler: h.restoredObject, managed: true, mutating: true,
			rules: objectRules(o.Resources, create),
			objects: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: hncv1alpha2.LabelInheritedFrom, Operator: metav1.LabelSelectorOpExists},
			}},
		},
	}
	out := make([]admission.Webhook, 0, len(all))
	for _, w := range all {
		out = append(out, w.declare(o))
	}
	return out
}

// declare writes a webhook out. Where nothing is refused, an outage refuses nothing
// either.
func (w webhook) declare(o WebhookOptions) admission.Webhook {
	mode, policy, timeout := modeOf(o.Settings), admissionregistrationv1.Fail, closedTimeout
	if w.off {
		mode = configv1alpha1.ModeOff
	}
	if w.handler.open {
		policy, timeout = admissionregistrationv1.Ignore, openTimeout
	}
	if mode != configv1alpha1.ModeEnforce {
		policy = admissionregistrationv1.Ignore
	}
	out := admission.Webhook{
		Name: w.name, Mode: mode, Path: w.path, Handler: w.handler.serve(), Mutating: w.mutating,
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules:           w.rules,
			FailurePolicy:   &policy,
			SideEffects:     new(admissionregistrationv1.SideEffectClassNoneOnDryRun), // Events, in mode Audit
			TimeoutSeconds:  new(int32(timeout.Seconds())),
			ObjectSelector:  w.objects,
			MatchConditions: append([]admissionregistrationv1.MatchCondition{w.asked(o.Users)}, w.conditions...),
		},
	}
	if w.managed {
		out.Scope = o.Settings.Where.Selection()
	}
	return out
}

// asked leaves out the requests of Holdfast itself, but for what it creates where the handler judges that.
func (w webhook) asked(users []string) admissionregistrationv1.MatchCondition {
	c := notBy(users)
	if w.handler.creations {
		c.Expression = "request.operation == 'CREATE' || " + c.Expression
	}
	return c
}

// objectRules are about all kinds that are copied, by the resources that they really
// have.
func objectRules(resources []schema.GroupResource, operations ...admissionregistrationv1.OperationType) (out []admissionregistrationv1.RuleWithOperations) {
	groups, byGroup := copied(resources)
	for _, g := range groups {
		out = append(out, rule(g, byGroup[g], operations...))
	}
	return out
}

var (
	// stands leaves out a namespace that is being deleted already.
	stands = admissionregistrationv1.MatchCondition{Name: "stands", Expression: "!has(oldObject.metadata.deletionTimestamp)"}
	// notEmptied lets whoever empties a namespace that is being deleted go on while
	// Holdfast is down. He does nothing else; the garbage collector is asked about.
	notEmptied = admissionregistrationv1.MatchCondition{
		Name:       "not-emptied",
		Expression: "request.operation != 'DELETE' || !(" + user + " in " + cel.Strings([]string{namespaceController, controllerManager}) + ")",
	}
)

// changes leaves out updates that change none of some fields.
func changes(fields ...string) admissionregistrationv1.MatchCondition {
	terms := []string{"request.operation != 'UPDATE'"}
	for _, f := range fields {
		terms = append(terms, field("object", f)+" != "+field("oldObject", f))
	}
	return admissionregistrationv1.MatchCondition{Name: "changes", Expression: strings.Join(terms, " || ")}
}
