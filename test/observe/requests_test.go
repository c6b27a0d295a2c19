// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// editor may do everything but unprotect.
const editor = "editor"

// request is one that somebody has a reason against.
type request struct {
	name string
	// by is the policy or the webhook that does; empty for nobody.
	by string
	// admin asks, and not the editor.
	admin bool
	// warns says that it is not refused in mode Enforce either.
	warns bool
	// always says that it is refused whatever the mode: what people could fake or break
	// would be worth nothing later on.
	always bool
	// about is the object that an Event is about, if the reason is a webhook's.
	about string
	do    func(context.Context, client.Client) error
}

// In the cluster, before the requests.
const (
	observed, holder, defaulting, parent, child, bypassed = "observed", "holder", "defaulting", "tree-parent", "tree-child", "tree-bypassed"

	world = `
{apiVersion: v1, kind: Namespace, metadata: {name: observed}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: holder}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: defaulting, labels: {holdfast.dev/protect-by-default: Always}, annotations: {holdfast.dev/protect-by-default: configmaps}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: tree-parent}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast, namespace: observed, labels: {holdfast.dev/deletion-protected: Always}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: karmada, namespace: observed, labels: {resourcetemplate.karmada.io/deletion-protected: Always}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kruise, namespace: observed, labels: {policy.kruise.io/delete-protection: Always}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: holder, labels: {holdfast.dev/deletion-protected: Always}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: declared, namespace: defaulting}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: selected, namespace: observed}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: observed}}
---
{apiVersion: v1, kind: Pod, metadata: {name: selected, namespace: observed}, spec: {containers: [{name: a, image: a}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: stay, namespace: observed, labels: {app: stay}}, spec: {containers: [{name: a, image: a}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bound, namespace: observed}, spec: {containers: [{name: a, image: a}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: used, namespace: observed}, spec: {replicas: 1, selector: {matchLabels: {app: used}}, template: {metadata: {labels: {app: used}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: selects}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: observed, name: selected}, {apiVersion: v1, kind: Pod, namespace: observed, name: selected}]}]}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: while-used}, spec: {mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: apps/v1, kind: ReplicaSet, namespace: observed, name: used}]}]}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: stay}, spec: {match: {namespaces: [observed], podSelector: {matchLabels: {app: stay}}}, verdict: {type: Deny, code: 403, message: stay}}}
---
{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: tree-child, namespace: tree-parent}}
---
{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: tree-bypassed, namespace: tree-parent}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: hierarchicalresourcequotas.hnc.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}, spec: {group: hnc.x-k8s.io, scope: Namespaced, names: {plural: hierarchicalresourcequotas, kind: HierarchicalResourceQuota}, versions: [{name: v1alpha2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`
	// unmarked comes when Holdfast may not write marks any more, so that the webhook alone sees
	// what hangs below.
	unmarked = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`
	widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: kept, namespace: observed, labels: {holdfast.dev/deletion-protected: Always}}}`
)

// labelled are the labels that people set, by the names of their policies.
var labelled = map[string]string{
	"holdfast": v1alpha1.DeletionProtectedLabel, "karmada": v1alpha1.KarmadaDeletionProtectedLabel, "kruise": v1alpha1.KruiseDeletionProtectionLabel,
}

// requests has one for each policy and each webhook, and some that nobody minds.
func requests() []request {
	const quotas = "hierarchicalresourcequotas.hnc.x-k8s.io"
	const owner = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"free","uid":"00000000-0000-0000-0000-000000000001"}]}}`
	out := []request{
		{name: "delete what a protection selects", by: "holdfast-deletion-protection", do: remove("v1", "ConfigMap", observed, "selected")},
		{name: "give it an owner to be collected with", by: "holdfast-deletion-protection-unprotect", do: patch("v1", "Pod", observed, "selected", owner)},
		{name: "delete what is in use", by: "holdfast-deletion-protection-while-used", do: remove("apps/v1", "ReplicaSet", observed, "used")},
		{name: "give that an owner", by: "holdfast-deletion-protection-while-used-unprotect", do: patch("apps/v1", "ReplicaSet", observed, "used", owner)},
		{name: "delete a namespace that holds something protected", by: "holdfast-deletion-contents", do: remove("v1", "Namespace", "", holder)},
		{
			name: "prepare the deletion of a definition without a look", by: "holdfast-deletion-unchecked",
			do: patch("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", quotas, `{"metadata":{"annotations":{"`+v1alpha1.DeleteUncheckedAnnotation+`":"`+quotas+`"}}}`),
		},
		{name: "delete what its namespace protects by default", by: "holdfast-deletion-default", do: remove("v1", "ConfigMap", defaulting, "declared")},
		{name: "delete the namespace that declares that", by: "holdfast-deletion-default-namespace", do: remove("v1", "Namespace", "", defaulting)},
		{
			name: "ask for an override in another's name", by: "holdfast-deletion-override", always: true,
			do: create("{apiVersion: holdfast.dev/v1alpha1, kind: DeletionOverride, metadata: {name: a}, spec: {target: {apiVersion: v1, kind: ConfigMap, namespace: observed, name: holdfast, uid: u}, reason: why, duration: 5m, requestedBy: somebody}}"),
		},
		{name: "set the label of the probe", by: "holdfast-probe", always: true, do: create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: observed, labels: {" + marks.ProbeLabel + ": x}}}")},
		{name: "claim a namespace", by: "holdfast-claims", always: true, do: claims},
		{name: "delete Holdfast's namespace", by: "holdfast-self", admin: true, always: true, do: remove("v1", "Namespace", "", "holdfast-system")},
		{
			name: "run pods in Holdfast's namespace", by: "holdfast-self-identity", always: true,
			do: create("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: holdfast-system}, spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}}"),
		},
		{
			name: "bind a role of Holdfast's", by: "holdfast-self-bindings", always: true,
			do: create("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: holdfast-guard}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: a}]}"),
		},
		{
			name: "make a copy", by: "holdfast-hierarchy-copies",
			do: create("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: observed, labels: {hnc.x-k8s.io/inherited-from: tree-parent}}}"),
		},
		{name: "set a label of trees", by: "holdfast-hierarchy-namespaces", do: patch("v1", "Namespace", "", observed, `{"metadata":{"labels":{"x.tree.hnc.x-k8s.io/depth":"1"}}}`)},
		{name: "make a quota of a tree", by: "holdfast-hierarchy-quotas", do: create("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchicalResourceQuota, metadata: {name: a, namespace: observed}}")},
		{name: "delete a subnamespace unchecked", by: "holdfast-hierarchy-unchecked", do: remove("v1", "Namespace", "", bypassed)},
		{
			name: "delete a CustomResourceDefinition with something protected", by: "unless-annotated-delete-unchecked-with-its-own-name.deletion.holdfast.dev",
			about: "widgets.example.com", do: remove("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com"),
		},
		{name: "evict a pod that is to stay", by: "strimzi-drain-cleaner.strimzi.io", about: "stay", do: evicts("stay")},
		{
			name: "name a parent that is not there", by: "hierarchyconfigurations.hnc.x-k8s.io", about: "hierarchy",
			do: create("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: observed}, spec: {parent: no-such-namespace}}"),
		},
		{
			name: "make an anchor for a namespace that is there", by: "subnamespaceanchors.hnc.x-k8s.io", about: "default",
			do: create("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: default, namespace: tree-parent}}"),
		},
		{
			name: "propagate what there is not", by: "hncconfigurations.hnc.x-k8s.io", about: "config",
			do: patch("hnc.x-k8s.io/v1alpha2", "HNCConfiguration", "", "config", `{"spec":{"resources":[{"resource":"nonsense","mode":"Propagate"}]}}`),
		},
		{name: "delete a subnamespace", by: "namespaces.hnc.x-k8s.io", about: child, do: remove("v1", "Namespace", "", child)},
		{
			name: "set an annotation that there is not", by: "objects.hnc.x-k8s.io", about: "annotated",
			do: create("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: annotated, namespace: observed, annotations: {propagate.hnc.x-k8s.io/nonsense: x}}}"),
		},
		{
			name: "write a configuration with a mistake", by: "configuration.holdfast.dev", admin: true, always: true,
			do: patch("v1", "ConfigMap", "holdfast-system", "holdfast", `{"data":{"config.yaml":"no: configuration"}}`),
		},
		{
			name: "write an EvictionPolicy with a mistake", by: "evictionpolicy.holdfast.dev", always: true,
			do: create("{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: a}, spec: {match: {podSelector: {}, condition: 'nonsense('}, verdict: {type: Deny, message: a}}}"),
		},
		{
			name: "write a ServiceAccountTemplate with a mistake", by: "serviceaccounttemplate.holdfast.dev", always: true,
			do: create("{apiVersion: holdfast.dev/v1alpha1, kind: ServiceAccountTemplate, metadata: {name: a}, spec: {source: {group: example.com, kind: Shop}, accounts: [{id: a, name: x, enabled: 'nonsense('}]}}"),
		},
		{name: "bind a label away by which a pod may be selected", by: "holdfast-deletion-protection-bind", do: binds("app")},
		{name: "delete what nobody protects", do: remove("v1", "ConfigMap", observed, "free")},
		{name: "evict a pod that may go", do: evicts("selected")},
		{name: "make a namespace", do: create("{apiVersion: v1, kind: Namespace, metadata: {name: another}}")},
	}
	for name, label := range labelled {
		out = append(out,
			request{name: "delete what has the label of " + name, by: "holdfast-deletion-" + name, do: remove("v1", "ConfigMap", observed, name)},
			request{name: "take the label of " + name + " away", by: "holdfast-deletion-" + name + "-unprotect", do: patch("v1", "ConfigMap", observed, name, `{"metadata":{"labels":{"`+label+`":null}}}`)},
			request{name: "bind the label of " + name + " away", by: "holdfast-deletion-" + name + "-bind", do: binds(label)},
			request{name: "mistype the label of " + name, by: "holdfast-deletion-" + name + "-value", do: create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: observed, labels: {" + label + ": Sometimes}}}")},
			request{
				name: "mistype the label of " + name + " in a template", by: "holdfast-deletion-" + name + "-value-stands", warns: true,
				do: create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: observed, labels: {" + label + ": Sometimes}, " +
					"ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: free, uid: 00000000-0000-0000-0000-000000000001, controller: true}]}}"),
			})
	}
	for _, mark := range append([]string{v1alpha1.MarkedLabel}, v1alpha1.Marks...) {
		out = append(out, request{name: "forge the mark " + mark + " by a binding", by: marks.BindingPolicyName, always: true, do: binds(mark)})
	}
	return out
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func remove(apiVersion, kind, namespace, name string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, object(apiVersion, kind, namespace, name))
	}
}

func patch(apiVersion, kind, namespace, name, merge string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, object(apiVersion, kind, namespace, name), client.RawPatch(types.MergePatchType, []byte(merge)))
	}
}

func create(manifest string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
			return err
		}
		return c.Create(ctx, o)
	}
}

// claims writes a claim that is bound to the Namespace; any other has no effect.
func claims(ctx context.Context, c client.Client) error {
	o := object("v1", "Namespace", "", observed)
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	return patch("v1", "Namespace", "", observed, `{"metadata":{"annotations":{"`+v1alpha1.ClaimsAnnotation+`":"of `+string(o.GetUID())+`, x"}}}`)(ctx, c)
}

func evicts(name string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: observed, Name: name}}, &policyv1.Eviction{})
	}
}

func binds(label string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: observed, Name: "bound"}}
		return c.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: observed, Name: "bound", Labels: map[string]string{label: ""}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "a"},
		})
	}
}

// prepare makes what the requests are about, and waits until Holdfast has seen it.
func prepare(t *testing.T, e *testkit.Env) {
	t.Helper()
	g := gomega.NewWithT(t)
	e.Grant(t, "", editor, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete", "bind"}})
	e.Apply(t, "", world)
	read := func(args ...string) func() string {
		return func() string { return e.Kubectl(t, append([]string{"get"}, args...)...).Stdout }
	}
	for _, marked := range []string{"configmap/selected", "pod/selected", "replicaset/used"} {
		g.Eventually(read(marked, "-n", observed, "-o", "jsonpath={.metadata.labels}"), "180s", "200ms").Should(gomega.ContainSubstring(v1alpha1.MarkedLabel), marked)
	}
	g.Eventually(read("namespace", holder, "-o", "jsonpath={.metadata.labels}"), "180s", "200ms").Should(gomega.ContainSubstring(v1alpha1.HoldsProtectedMark))
	for _, ns := range []string{child, bypassed} {
		g.Eventually(read("namespace", ns, "-o", "jsonpath={.metadata.labels}"), "180s", "200ms").Should(gomega.ContainSubstring(parent + ".tree.hnc.x-k8s.io/depth"))
	}
	g.Eventually(read("hncconfiguration", "config", "-o", "name"), "180s", "200ms").ShouldNot(gomega.BeEmpty())
	if out := e.Kubectl(t, "annotate", "namespace", bypassed, v1alpha1.DeleteUncheckedAnnotation+"="+bypassed); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	withoutMarks(t, e)
	e.Apply(t, "", unmarked)
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=180s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	e.Apply(t, "", widget)
}

// withoutMarks takes away the right to write marks.
func withoutMarks(t *testing.T, e *testkit.Env) {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-guard"}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		if len(role.Rules[i].Resources) == 1 && role.Rules[i].Resources[0] == "*" {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
		}
	}
	if err := e.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
}
