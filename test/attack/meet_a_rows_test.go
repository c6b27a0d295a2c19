// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

const (
	isCopy     = "this is a copy"
	notManaged = "be managed"
	copiedRB   = "rolebinding admin -n {child}"
	owns       = "ns {mine}"
	byHoldfast = "is written by Holdfast alone"
	declares   = "ns {declared}"
)

// meetTrees are attempts by requests of nsadmin, who is admin of shop and of its subnamespace child, and of owner, who may do
// everything in and with the namespace mine. RootSync plat declares a namespace, and uses another that it has created.
var meetTrees = []attempt{
	{number: 1, name: "an anchor of a namespace that a RootSync declares", users: "nsadmin", on: declares, line: "create -f -", input: anchor("{shop}", "{declared}"), says: "already", absent: "subns {declared} -n {shop}"},
	{number: 2, name: "an anchor of one that a RootSync has created along the way", users: "nsadmin", on: "ns {used}", line: "create -f -", input: anchor("{shop}", "{used}"), says: "already", absent: "subns {used} -n {shop}"},
	{number: 3, name: "an anchor of the namespace of RootSyncs", users: "nsadmin", on: "ns " + story.Syncs, line: "create -f -", input: anchor("{shop}", story.Syncs), says: "cannot be a subnamespace", absent: "subns " + story.Syncs + " -n {shop}"},
	{number: 4, name: "the same in the subnamespace", users: "nsadmin", on: declares, line: "create -n {child} -f -", input: anchor("{child}", "{declared}"), says: "already", absent: "subns {declared} -n {child}"},
	{number: 5, name: "the namespace of RootSyncs as the parent", users: "nsadmin", line: "create -f -", input: hierarchy("{shop}", story.Syncs), says: "cannot be a parent"},
	{number: 6, name: "a declared namespace as the parent", users: "nsadmin", line: "create -f -", input: hierarchy("{shop}", "{declared}"), says: asked},
	{number: 7, name: "shop as the parent of a declared namespace", users: "nsadmin", line: "create -n {declared} -f -", input: hierarchy("{declared}", "{shop}"), says: "is forbidden", absent: of + "{declared}"},

	{number: 8, name: "an anchor with the label of what RootSyncs apply", users: "nsadmin", line: "create -f -", input: marking("applyset.kubernetes.io/part-of", "x"), says: notManaged, absent: "subns {marked} -n {shop}"},
	{number: 9, name: "an anchor with that of Helm", users: "nsadmin", line: "create -f -", input: marking("app.kubernetes.io/managed-by", "Helm"), says: notManaged, absent: "subns {marked} -n {shop}"},
	{number: 10, name: "an anchor with the name of another namespace as a label", users: "nsadmin", line: "create -f -", input: marking("kubernetes.io/metadata.name", "kube-system"), says: notManaged, absent: "subns {marked} -n {shop}"},
	{number: 11, name: "an anchor with a label of a tree", users: "nsadmin", line: "create -f -", input: marking("{other}.tree.hnc.x-k8s.io/depth", "1"), says: notManaged, absent: "subns {marked} -n {shop}"},
	{number: 12, name: "an anchor with the label that protects", users: "nsadmin", line: "create -f -", input: marking("holdfast.dev/deletion-protected", "Always"), says: notManaged, absent: "subns {marked} -n {shop}"},
	{number: 13, name: "an anchor with the label of PodSecurity", users: "nsadmin", line: "create -f -", input: marking(enforce, "privileged"), says: notManaged, absent: "subns {marked} -n {shop}"},

	{number: 14, name: "the label of copies on a Role", users: "nsadmin", on: "role own -n {shop}", line: "label role own hnc.x-k8s.io/inherited-from={other}", says: "cannot be"},
	{number: 15, name: "the marks of a RootSync on a copy", users: "nsadmin", on: copiedRB, line: "annotate rolebinding admin -n {child} configmanagement.gke.io/managed=enabled configsync.gke.io/manager=:root_x", says: isCopy},
	{number: 16, name: "the label of a RootSync on a copy", users: "nsadmin", on: copiedRB, line: "label rolebinding admin -n {child} applyset.kubernetes.io/part-of=x", says: isCopy},
	{number: 17, name: "the protection on a copy", users: "nsadmin", on: copiedRB, line: "label rolebinding admin -n {child} holdfast.dev/deletion-protected=Always", says: isCopy},
	{number: 18, name: "the account of a RootSync in a copy", users: "nsadmin", on: copiedRB, line: "create rolebinding admin --clusterrole=view --serviceaccount=" + story.Syncs + ":root-reconciler-x -n {child}", says: "already exists"},
	{number: 19, name: "an owner on a copy", users: "nsadmin", on: copiedRB, line: `patch rolebinding admin -n {child} --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"` + anotherUID + `"}]}}`, says: isCopy},

	{number: 20, name: "claims on one's own Namespace", users: "owner", on: owns, line: "annotate ns {mine} --overwrite holdfast.dev/claims=" + "of-UID", says: ""},
	{number: 21, name: "bound claims on one's own Namespace", users: "owner", on: owns, line: "apply --server-side --force-conflicts -f -", input: claims("{mine}"), says: byHoldfast},
	{number: 22, name: "bound claims through the status", users: "owner", on: owns, line: "apply --server-side --force-conflicts --subresource=status -f -", input: claims("{mine}"), says: byHoldfast},
	{number: 23, name: "the mark of a root on one's own Namespace", users: "owner", on: owns, line: "label ns {mine} holdfast.dev/has-subnamespaces=true", says: byHoldfast},
	{number: 24, name: "a tree on one's own Namespace", users: "owner", on: owns, line: "label ns {mine} {shop}.tree.hnc.x-k8s.io/depth=1", says: "cannot be changed"},
	{number: 25, name: "one's own Namespace out of the trees", users: "owner", on: owns, line: "label ns {mine} hnc.x-k8s.io/excluded-namespace=true", says: "not in the list"},
	{number: 26, name: "one's own Namespace in no tree", users: "owner", on: owns, line: "label ns {mine} --overwrite hnc.x-k8s.io/included-namespace=false", says: `must be "true"`},

	{number: 27, name: "a token of the account of a RootSync", users: "nsadmin owner", line: "create token root-reconciler-{plat} -n " + story.Syncs, says: "forbidden"},
	{number: 28, name: "a RootSync", users: "nsadmin owner", line: "create -n " + story.Syncs + " -f -", input: `{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: "{denied}", namespace: ` + story.Syncs + `}, spec: {sourceFormat: unstructured}}`, says: "forbidden", absent: "rootsync {denied} -n " + story.Syncs},
	{number: 29, name: "the account of a RootSync as an admin by a role one does not have", users: "nsadmin", line: "create rolebinding all --clusterrole=cluster-admin --serviceaccount=" + story.Syncs + ":root-reconciler-x -n {shop}", says: notHeld, absent: "rolebinding all -n {shop}"},
	{number: 30, name: "the removal of a declared Namespace by its admin", users: "otherad", on: declares, line: "delete ns {declared} --wait=false", says: "forbidden"},
}

// marking is an anchor with a label for its subnamespace.
func marking(key, value string) string {
	return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{marked}", namespace: "{shop}"}, spec: {labels: [{key: "` + key + `", value: "` + value + `"}]}}`
}

// meetSources are attempts of committers to a repository.
var meetSources = []source{
	{number: 31, name: "an anchor, by edit", yaml: anchor("{shop}", "{sub}"), says: notMaySet, absent: "subns {sub} -n {shop}"},
	{number: 32, name: "an anchor of the namespace of RootSyncs, by admin", roles: admins, yaml: anchor("{shop}", story.Syncs), says: "cannot be a subnamespace", absent: "subns " + story.Syncs + " -n {shop}"},
	{number: 33, name: "an anchor of a namespace of another, by admin", roles: admins, yaml: anchor("{shop}", "{other}"), says: "already", absent: "subns {other} -n {shop}"},
	{number: 34, name: "a parent of another, by admin", roles: admins, yaml: hierarchy("{shop}", "{other}"), says: asked},
	{number: 35, name: "the annotation of a subnamespace, by who may update that Namespace", roles: `{kind: ClusterRole, name: cluster-admin, namespace: "{one}"}`,
		yaml: `{apiVersion: v1, kind: Namespace, metadata: {name: "{one}", annotations: {` + subnamespaceOf + `: "{other}"}}}`, says: asked, on: "ns {one}"},
	{number: 36, name: "the binding of its own account, with another role", yaml: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: "{b}", namespace: "{shop}"}, ` + toAdmin, says: notMaySet, absent: "rolebinding {b} -n {shop}"},
	{number: 37, name: "a token of Holdfast, by edit everywhere", roles: `{kind: ClusterRole, name: edit}`,
		yaml: `{apiVersion: v1, kind: Secret, metadata: {name: "{token}", namespace: holdfast-system, annotations: {kubernetes.io/service-account.name: holdfast-guard}}, type: kubernetes.io/service-account-token}`,
		says: "operate", absent: "secret {token} -n holdfast-system"},
}

// ownObjects are Holdfast's own, and what it is made of, which a RootSync with a role in one namespace declares.
var ownObjects = []string{
	`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{own}"}, spec: {reason: x, target: {apiVersion: v1, kind: ConfigMap}}}`,
	`{apiVersion: holdfast.dev/v1alpha1, kind: DeletionOverride, metadata: {name: "{own}"}, spec: {}}`,
	`{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: "{own}"}, spec: {}}`,
	`{apiVersion: holdfast.dev/v1alpha1, kind: ServiceAccountTemplate, metadata: {name: "{own}"}, spec: {}}`,
	`{apiVersion: holdfast.dev/v1alpha1, kind: Holdfast, metadata: {name: "{own}"}}`,
	`{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}, spec: {resources: [{resource: secrets, mode: Propagate}]}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: holdfast-anchor, annotations: {holdfast.dev/stop: "true"}}, rules: []}`,
	`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: holdfast-claims}, spec: {}}`,
	`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: holdfast-guard}}`,
	`{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: "{own}", namespace: ` + story.Syncs + `}, spec: {sourceFormat: unstructured, git: {repo: "https://x.invalid/r", auth: none}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast, namespace: holdfast-system}, data: {config.yaml: "{}"}}`,
	`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: overrides.holdfast.dev}, spec: {group: holdfast.dev, scope: Cluster, names: {plural: overrides, singular: override, kind: Override},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
}

func TestMeet_rows(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("nsadmin", "otherad")
	r.owned("{mine}", "owner")
	r.Apply(namespace("{one}") + role("{shop}", "own", `propagate.hnc.x-k8s.io/none: "true"`))
	r.Repo("plat").Commit(t, map[string]string{"x.yaml": r.Long(ns("{declared}") + cm("{used}", "x"))})
	r.Apply(fmt.Sprintf(`{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: "{plat}", namespace: %s}, spec: {sourceFormat: unstructured, git: {repo: %q, branch: main, auth: none, period: 1s}}}`,
		story.Syncs, r.Repo("plat").URL()))
	r.See("cm x -n {used} -o name", "configmap/x\n")
	r.See("ns {declared} -o name", "namespace/{declared}\n")
	r.Apply(binding("{shop}", "admin", "admin", nsadmin, ""))
	r.ApplyAs("{nsadmin}", child)
	r.See(copiedRB+" -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")

	rows := make([]attempt, len(meetTrees))
	for i, a := range meetTrees { // claims are bound by the UID
		rows[i] = a
		rows[i].input = strings.ReplaceAll(a.input, "UID,", string(r.state("ns {mine}").UID)+",")
	}
	r.hold(rows)
	for i, s := range meetSources {
		t.Run(fmt.Sprintf("%d %s", s.number, s.name), func(t *testing.T) {
			t.Parallel()
			r.in(t).trySource(s, fmt.Sprintf("m%d", i), "none")
		})
	}
	r.play(meets)
}

// allForbidden commits what a RootSync may not write, and waits until it says so of all of it.
func allForbidden(r *rig) {
	r.Commit("owns", strings.Join(ownObjects, "\n---\n"), edits("{shop}"))
	r.Eventually(func() int { return strings.Count(r.State("owns"), notMaySet) }, story.Patience, story.Often).Should(gomega.Equal(len(ownObjects)))
}
