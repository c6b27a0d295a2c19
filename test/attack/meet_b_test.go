// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// The tests TestMeet_… are attempts where two features meet. The tables of this file are of the attempts with protections.

const (
	// pipeline is a service account that may do everything with Widgets, status included, and edit the rest.
	pipeline = "system:serviceaccount:{shop}:pipe"

	controls   = "which does not bind the operator of its controller"
	overwrites = "a binding's labels overwrite those of its pod"
	relabels   = "by labels, of which this update changes "
)

// selecting is a ResourceDeletionProtection of what has the label app=kept in a namespace.
func selecting(name, namespace string, kinds ...string) string {
	text := `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "` + name + `"}, spec: {protectedResources: [{resourceSelector: [`
	for _, kind := range kinds {
		text += kind + `, namespace: "` + namespace + `", labelSelector: {matchLabels: {app: kept}}}, `
	}
	return text + "]}]}}\n---\n"
}

const (
	configMaps      = "{apiVersion: v1, kind: ConfigMap"
	services        = "{apiVersion: v1, kind: Service"
	serviceAccounts = "{apiVersion: v1, kind: ServiceAccount"
	rolesKind       = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role"
)

// kept is an object with the label by which it is selected.
func kept(kind, name, namespace, more string) string {
	return kind + `, metadata: {name: ` + name + `, namespace: "` + namespace + `", labels: {app: kept}}` + more + "}\n---\n"
}

// An operator may delete and unlabel what its custom resource controls. A service account that counts as one wants to have
// its custom resource control what it did not make.
func TestMeet_operatorsAndProtections(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("ed", "nsadmin")
	r.bind("{shop}", "edit", r.Long(pipeline))
	r.grant("{shop}", r.Long(pipeline), testkit.Rule(r.Long("{shop}.ex.io"), []string{"*"}, "*"), testkit.Rule("apps", []string{"deployments/status"}, "patch"))
	r.Apply(heldWidgets(version("v1", "storage: true")))
	r.Apply(`{apiVersion: "{shop}.ex.io/v1", kind: Widget, metadata: {name: one, namespace: "{shop}"}}`)
	uid := r.Run("get widgets.{shop}.ex.io/one -n {shop} -o jsonpath={.metadata.uid}").Stdout
	reference := func(name, more string) string {
		return `"ownerReferences":[{"apiVersion":"{shop}.ex.io/v1","kind":"Widget","name":"` + name + `","uid":"` + uid + `"` + more + `}]`
	}
	one, two := reference("one", `,"controller":true`), reference("two", `,"controller":true`)
	meta := func(name, more string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"{shop}","labels":{"holdfast.dev/deletion-protected":"Always"},` + more + "}}\n---\n"
	}
	r.Apply(meta("controlled", one) + meta("owned", reference("one", "")) + selecting("{services}", "{shop}", services) + kept(services, "selected", "{shop}", ", spec: {clusterIP: None}") +
		`{apiVersion: v1, kind: Secret, metadata: {name: data, namespace: "{shop}", labels: {` + protected + `}}}`)
	t.Cleanup(func() { r.as("", "delete rdp {services}", "") })
	r.marked(v1alpha1.ProtectedByMark, "{services}", "service/selected -n {shop}")
	const patch = " --type=merge -p "
	r.hold([]attempt{
		{number: 1, name: "the controller named by a pipeline", users: pipeline, on: "cm", line: "patch cm NAME" + patch + `{"metadata":{` + one + `}}`, says: controls},
		{number: 2, name: "by server-side apply of a new manager", users: pipeline, on: "cm", line: "apply --server-side --field-manager=mine -f -", input: meta("NAME", one), says: controls},
		{number: 3, name: "through the status of a Deployment", users: pipeline, on: "deployment", line: "patch deployment NAME --subresource=status" + patch + `{"metadata":{` + one + `}}`, says: controls},
		{number: 4, name: "by people, for the pipeline", users: "ed nsadmin", on: "cm", line: "patch cm NAME" + patch + `{"metadata":{` + one + `}}`, says: controls},
		{number: 5, name: "together with the label taken off", users: pipeline, on: "cm", line: "patch cm NAME" + patch + `{"metadata":{"labels":null,` + one + `}}`, says: needsVerb},
		{number: 6, name: "of a Secret, to take the label off then", users: pipeline, on: "secret data -n {shop}", line: "patch secret data" + patch + `{"metadata":{` + one + `}}`, says: controls},
		{number: 7, name: "of what a ResourceDeletionProtection selects", users: pipeline, on: "service selected -n {shop}", line: "patch service selected" + patch + `{"metadata":{` + one + `}}`, says: controls},
		{number: 8, name: "in the place of another controller", users: pipeline, on: "cm controlled -n {shop}", line: "patch cm controlled" + patch + `{"metadata":{` + two + `}}`, says: controls},
		{number: 9, name: "of an owner that does not control", users: pipeline, on: "cm owned -n {shop}", line: `patch cm owned --type=json -p [{"op":"add","path":"/metadata/ownerReferences/0/controller","value":true}]`, says: controls},
		{number: 10, name: "deleted without a controller", users: pipeline, on: "cm", line: "delete cm NAME", says: isProtected},
		{number: 11, name: "unlabelled without a controller", users: pipeline, on: "secret data -n {shop}", line: "label secret data holdfast.dev/deletion-protected-", says: needsVerb},
	})
	r.does(r.Long(pipeline), "delete cm controlled -n {shop} --dry-run=server") // it counts as the operator of what it controls
}

// A user who may write subresources of pods wants to change the labels by which pods are selected.
func TestMeet_subresourcesAndSelectors(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("patcher", "ed", "nsadmin")
	r.grant("{shop}", r.user("patcher"), testkit.Rule("", []string{"bindings"}, "create"))
	pod := func(name string) string {
		return kept("{apiVersion: v1, kind: Pod", name, "{shop}", ", spec: {containers: [{name: c, image: none}]}")
	}
	r.Apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{pods}"}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: Pod, namespace: "{shop}",
  labelSelector: {matchLabels: {app: kept}, matchExpressions: [{key: drained, operator: DoesNotExist}]}}]}]}}` + "\n---\n" + pod("pending") + pod("applied") + pod("free"))
	t.Cleanup(func() { r.as("", "delete rdp {pods}", "") })
	const pending, status = "pod pending -n {shop}", "patch pod pending --type=merge -p "
	r.marked(v1alpha1.ProtectedByMark, "{pods}", pending)
	r.marked(v1alpha1.ProtectedByMark, "{pods}", "pod applied -n {shop}")
	bound := func(pod, labels string) string {
		return `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"` + pod + `","namespace":"{shop}","labels":{` + labels + `}},"target":{"kind":"Node","name":"none"}}`
	}
	const binding = "create --raw /api/v1/namespaces/{shop}/pods/pending/binding -f -"
	gone := `{"metadata":{"labels":{"app":"gone"}}}`
	applied := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"applied","namespace":"{shop}","labels":{%}},"spec":{"containers":[{"name":"c","image":"none"}]}}`
	r.hold([]attempt{
		{number: 12, name: "a binding with another value", users: "patcher", on: pending, line: binding, input: bound("pending", `"app":"gone"`), says: overwrites},
		{number: 13, name: "a binding with another value, by the old path", users: "patcher", on: pending, line: "create --raw /api/v1/namespaces/{shop}/bindings -f -", input: bound("pending", `"app":"gone"`), says: overwrites},
		{number: 14, name: "a binding with one more label", users: "patcher", on: pending, line: binding, input: bound("pending", `"drained":"x"`), says: overwrites},
		{number: 15, name: "a binding that empties the label", users: "patcher", on: pending, line: binding, input: bound("pending", `"app":"","topology.kubernetes.io/zone":"a"`), says: overwrites},
		{number: 16, name: "a binding without labels passes", users: "patcher", on: "pod free -n {shop}", line: "create --raw /api/v1/namespaces/{shop}/pods/free/binding?dryRun=All -f -", input: bound("free", "")},
		{number: 17, name: "a binding with the topology of a node passes", users: "patcher", on: "pod free -n {shop}", line: "create --raw /api/v1/namespaces/{shop}/pods/free/binding?dryRun=All -f -", input: bound("free", `"topology.kubernetes.io/zone":"a"`)},
		{number: 18, name: "another value, through the status", users: "patcher", on: pending, line: status + gone + " --subresource=status", says: relabels + "app"},
		{number: 19, name: "another value, through ephemeralcontainers", users: "patcher", on: pending, line: "patch pod pending --type=strategic -p " + gone + " --subresource=ephemeralcontainers"},
		{number: 20, name: "another value, through resize", users: "patcher", on: pending, line: "patch pod pending --type=strategic -p " + gone + " --subresource=resize"},
		{number: 21, name: "another value, by server-side apply of another manager", users: "ed", on: "pod applied -n {shop}", line: "apply --server-side --field-manager=mine --force-conflicts -f -", input: replaced(applied, "%", `"app":"gone"`), says: relabels + "app"},
		{number: 22, name: "no value, by server-side apply of the manager that owns it", users: "ed", on: "pod applied -n {shop}", line: "apply --server-side --field-manager=a-user -f -", input: replaced(applied, "%", ""), says: relabels + "app"},
		{number: 23, name: "the other label of the selector", users: "ed nsadmin", on: pending, line: "label pod pending drained=", says: relabels + "drained"},
	})
}

// A tenant who may not change an object has Holdfast change it: a template of an account, and the source of a copy.
func TestMeet_holdfastRelabelsNothing(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Expect(manager.Apply(t.Context(), r.Cluster, "internal/testkit/strimzi/crds.yaml")).To(gomega.Succeed())
	r.tenant("{shop}")
	r.grant("{shop}", r.Long("{kcuser}"), testkit.Rule("kafka.strimzi.io", []string{"kafkaconnects"}, "*"))
	r.Apply(selecting("{accounts}", "{shop}", serviceAccounts) + selecting("{roles}", "{child}", rolesKind))
	t.Cleanup(func() { r.as("", "delete rdp {accounts} {roles}", "") })
	template := func(labels string) string {
		return `{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: c, namespace: "{shop}"}, spec: {template: {serviceAccount: {metadata: {labels: {` + labels + `}}}}}}`
	}
	role := func(label string) string {
		return `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: "{shop}", labels: {app: ` + label + `}}, rules: []}`
	}
	r.ApplyAs("{nsadmin}", child)
	r.See("ns {child} -o name", "namespace/{child}\n")
	r.ApplyAs("{kcuser}", template("app: kept"))
	r.ApplyAs("{nsadmin}", role("kept"))
	const account, inherited = "sa/c-connect -n {shop}", "role/r -n {child}"
	r.marked(v1alpha1.ProtectedByMark, "{accounts}", account)
	r.marked(v1alpha1.ProtectedByMark, "{roles}", inherited)
	before := map[string]state{account: r.state(account), inherited: r.state(inherited)}
	same := func() {
		for object, was := range before {
			r.same(object, was)
		}
	}
	// 24, 25: another label.
	r.ApplyAs("{kcuser}", template("app: gone"))
	r.ApplyAs("{nsadmin}", role("gone"))
	r.event("{shop}", "c", "ServiceAccountFailed")
	r.event("{shop}", "r", "CannotPropagateObject")
	same()
	// 26: no label.
	r.ApplyAs("{kcuser}", template("other: label"))
	same()
	// 27: the source deleted, with which the copy would go.
	r.does("{nsadmin}", "delete role r -n {shop}")
	r.event("{child}", "r", "CannotUpdateObject")
	same()
	// 28: the custom resource deleted, with which the garbage collector would delete the account.
	r.marked(v1alpha1.HoldsProtectedMark, "true", "kafkaconnect/c -n {shop}")
	r.denied("1 protected object: serviceaccounts/c-connect", "{kcuser}", "delete kafkaconnect c -n {shop}")
	same()
}
