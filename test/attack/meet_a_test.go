// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// Attempts of a second review, where trees, RootSyncs, service accounts and claims meet. These had gone through.

const (
	subnamespaceOf = "hnc.x-k8s.io/subnamespace-of"
	takesPlace     = "would take the place of others"
	colour         = "team.kubernetes.io/colour"
)

// person is a user as the subject of a binding.
func person(name string) string {
	return `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "` + name + `"}`
}

// refused waits until a request of a user that has no effect is refused.
func (r *rig) refused(user, line, input, says string) {
	r.T.Helper()
	r.Eventually(func() string { return r.as(user, line+" --dry-run=server", input).Stderr }, story.Patience, story.Slower).
		Should(gomega.ContainSubstring(r.Long(says)), line)
}

// owned is a namespace in which a user may do everything: with the namespace itself, too.
func (r *rig) owned(name, user string) {
	r.T.Helper()
	r.Apply(namespace(name) + binding(name, "all", "cluster-admin", person(r.user(user)), ""))
	r.do(user, "annotate namespace "+name+" note=x", "")
}

// A user who may update a Namespace, by a role in it, moves it below another by the annotation of a subnamespace, to get the
// copies of that; and out of its tree, to lose the copies.
func TestMeet_anAnnotationTakesNoNamespaceIntoATree(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.owned("{mine}", "owner")
	r.owned("{below}", "owner")
	r.Apply(namespace("{other}") + hierarchy("{below}", "{other}"))
	r.See(`namespace {below} -o jsonpath={.metadata.labels.{other}\.tree\.hnc\.x-k8s\.io/depth}`, "1")
	r.grant("", r.user("maker"), testkit.Rule("", []string{"namespaces"}, "create", "get"))
	const of = `{"metadata":{"annotations":{"` + subnamespaceOf + `":"{shop}"}}}`
	for _, user := range []string{"owner", "maker"} {
		r.refused(user, "create -f -", `{apiVersion: v1, kind: Namespace, metadata: {name: "{new}", annotations: {`+subnamespaceOf+`: "{shop}"}}}`,
			map[string]string{"owner": "forbidden", "maker": `tree of the namespace "{shop}"`}[user])
	}
	for _, subresource := range []string{"", " --subresource=status"} {
		r.refused("owner", "patch namespace {mine} --type=merge"+subresource+" -p "+of, "", `tree of the namespace "{shop}"`)
	}
	r.refused("owner", "patch namespace {below} --type=merge -p "+replaced(of, "{shop}", "{mine}"), "", `tree of the namespace "{other}"`)
	out := r.as("owner", "annotate namespace {mine} "+subnamespaceOf+"={shop}", "")
	r.Expect(out.Stderr).To(gomega.ContainSubstring("you may not update hierarchyconfigurations"))
	r.Expect(r.get("rolebinding admin -n {mine} -o name")).To(gomega.BeEmpty())

	// With the right it is as before.
	r.Apply(binding("{shop}", "two", "admin", person("{owner}"), ""))
	r.do("owner", "annotate namespace {mine} "+subnamespaceOf+"={shop}", "")
	r.See("rolebinding admin -n {mine} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")

	// Without it the namespace does not leave the tree.
	r.do("", "delete rolebinding two -n {shop}", "")
	r.refused("owner", "annotate namespace {mine} "+subnamespaceOf+"-", "", `tree of the namespace "{shop}"`)
	r.do("", "annotate namespace {mine} "+subnamespaceOf+"-", "")
}

// A namespace is an orphan, as its parent was deleted. A tenant of another creates a subnamespace of the parent's name, to be
// admin of the orphan.
func TestMeet_anAnchorTakesNoOrphan(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(namespace("{shop}") + namespace("{prod}") + namespace("{evil}"))
	r.bind("{evil}", "admin", r.user("eve"))
	r.Apply(hierarchy("{prod}", "{shop}"))
	r.See(`namespace {prod} -o jsonpath={.metadata.labels.{shop}\.tree\.hnc\.x-k8s\.io/depth}`, "1")
	r.do("", "delete namespace {shop}", "")
	r.refused("eve", "create -f -", anchor("{evil}", "{shop}"), `tree of the namespace "{prod}"`)
	out := r.as("eve", "create -f -", anchor("{evil}", "{shop}"))
	r.Expect(out.Code).NotTo(gomega.BeZero(), out.Stdout)

	// Its own admin may.
	r.bind("{prod}", "admin", r.user("eve"))
	r.do("eve", "create -f -", anchor("{evil}", "{shop}"))
	r.See(`namespace {prod} -o jsonpath={.metadata.labels.{evil}\.tree\.hnc\.x-k8s\.io/depth}`, "2")
}

// role is a Role without rules.
func role(namespace, name, annotations string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: ` + name + `, namespace: "` + namespace + `", annotations: {` + annotations + `}}, rules: []}` + "\n---\n"
}

// labelling is a HierarchyConfiguration that sets a label for its subtree.
func labelling(key, value string) string {
	return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: "{shop}"}, spec: {labels: [{key: ` + key + `, value: "` + value + `"}]}}`
}

// A tenant has an object whose exception selects no namespace, or that is not copied for its subjects, and changes the labels
// or the subjects: it would take the place of what an administrator, or a RootSync, has in the subnamespace.
func TestMeet_nothingIsDisplacedByLabelsOrSubjects(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenantWithChild()
	r.Synced("plat", r.Commit("plat", role("{child}", "kept", "")+binding("{child}", "ops", "view", person("{zoe}"), "")))

	const apply = "apply --server-side --field-manager=a-user -f -"
	r.refused("nsadmin", apply, role("{shop}", "kept", ""), takesPlace)
	r.ApplyAs("{nsadmin}", role("{shop}", "kept", `propagate.hnc.x-k8s.io/select: "`+colour+`=red"`))
	r.refused("nsadmin", apply, labelling(colour, "red"), takesPlace)
	r.refused("nsadmin", apply, replaced(child, `"{shop}"}`, `"{shop}"}, spec: {labels: [{key: `+colour+`, value: red}]}`), takesPlace)
	r.ApplyAs("{nsadmin}", labelling(colour, "blue"))

	r.ApplyAs("{nsadmin}", binding("{shop}", "ops", "view", account("none"), ""))
	r.refused("nsadmin", apply, binding("{shop}", "ops", "view", nsadmin, ""), takesPlace)
	r.See("rolebinding ops -n {child} -o jsonpath={.subjects[*].name}", "{zoe}")
	r.Expect(r.get(`role kept -n {child} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`)).To(gomega.BeEmpty())
}

// A tenant puts the label of copies on what a RootSync declares, to change it then, or to keep it from going.
func TestMeet_whatLooksLikeACopyIsDeclaredAllTheSame(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Synced("plat", r.Commit("plat", valued("{shop}", "a", "1")+valued("{shop}", "b", "1")))
	r.do("nsadmin", "label configmap a b -n {shop} hnc.x-k8s.io/inherited-from={other}", "")
	r.do("nsadmin", `patch configmap a -n {shop} --type=merge -p {"data":{"v":"mine"}}`, "")
	r.has("{shop}", "a", "1")
	r.Synced("plat", r.Commit("plat", valued("{shop}", "a", "2")))
	r.has("{shop}", "a", "2")
	r.See("configmap b -n {shop} -o name", "")
	r.ApplyAs("{nsadmin}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: "{shop}", labels: {hnc.x-k8s.io/inherited-from: "{shop}"}}}`)
	r.Synced("plat", r.Commit("plat", valued("{shop}", "a", "2")+valued("{shop}", "c", "1")))
	r.has("{shop}", "c", "1")
}

// An older RootSync has no role in the namespace, of which a tenant is admin who commits to its repository. The tenant gives
// its account the role, to have it take over what another RootSync applies there.
func TestMeet_aTenantGivesNoRootSyncAClaim(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Apply(namespace("{team}"))
	r.Synced("team", r.Commit("team", cm("{team}", "own"), edits("{team}")))
	r.Synced("plat", r.Commit("plat", valued("{shop}", "policy", "1")))
	r.ApplyAs("{nsadmin}", binding("{shop}", "gift", "edit", account("team"), ""))
	r.do("", "create configmap two --dry-run=server -n {shop} --as=system:serviceaccount:"+story.Syncs+":root-reconciler-{team}", "")
	r.Commit("team", cm("{team}", "own")+valued("{shop}", "policy", "attack"), edits("{team}"))
	r.Says("team", "KNV2013: failed to apply ConfigMap, {shop}/policy: ")
	for i := range 3 { // in which the API server is asked again
		value := fmt.Sprint(i + 2)
		r.Synced("plat", r.Commit("plat", valued("{shop}", "policy", value)))
		r.has("{shop}", "policy", value)
	}

	// The RootSync asks for the role.
	r.Commit("team", cm("{team}", "own")+valued("{shop}", "policy", "older"), edits("{team}"), edits("{shop}"))
	r.has("{shop}", "policy", "older")
	r.Says("plat", "KNV1060: ")
}

// Keys by which others recognise and protect a Namespace are matched by patterns of the configuration.
func TestMeet_treesManageNoKeysOfOthers(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	const karmada, lifecycle = "resourcetemplate.karmada.io/deletion-protected", "client.lifecycle.config.k8s.io/deletion"
	r.do("", "label namespace {shop} "+karmada+"=Always", "")
	r.do("", "annotate namespace {shop} "+lifecycle+"=detach", "")
	for _, key := range []string{karmada, "policy.kruise.io/delete-protection", "applyset.kubernetes.io/part-of", "app.kubernetes.io/managed-by", "kubernetes.io/metadata.name"} {
		r.refused("nsadmin", "create -f -", labelling(key, "x"), `does not let the label "`+key+`" be managed`)
	}
	for _, key := range []string{lifecycle, "config.k8s.io/owning-inventory"} {
		r.refused("nsadmin", "create -f -", replaced(labelling(key, "x"), "labels", "annotations"), `does not let the annotation "`+key+`" be managed`)
	}
	r.ApplyAs("{nsadmin}", labelling(colour, "red"))
	r.See(`namespace {shop} -o jsonpath={.metadata.labels.team\.kubernetes\.io/colour}`, "red")
	r.See(`namespace {shop} -o jsonpath={.metadata.labels.resourcetemplate\.karmada\.io/deletion-protected}`, "Always")
	r.See(`namespace {shop} -o jsonpath={.metadata.annotations.client\.lifecycle\.config\.k8s\.io/deletion}`, "detach")
}

// A user who may write KafkaConnects, and no service accounts, has Holdfast create an account that would be copied over one
// of the subnamespace, with an identity in a cloud.
func TestMeet_anAccountOfATemplateDisplacesNoOther(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, installed)
	r := &rig{story.On(t, e, e.Namespace(t))}
	r.Expect(manager.Apply(t.Context(), r.Cluster, "internal/testkit/strimzi/crds.yaml")).To(gomega.Succeed())
	r.grant("", guard, testkit.Rule("", []string{"serviceaccounts"}, "get", "list", "watch", "create", "update", "patch", "delete"))
	r.Apply(`{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}, spec: {resources: [{resource: serviceaccounts, mode: Propagate}]}}`)
	r.cast("kcuser", "nsadmin")
	r.ApplyAs("{nsadmin}", child)
	r.See("namespace {child} -o name", "namespace/{child}\n")
	const payments = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: payments-connect, namespace: "{%s}", annotations: {note: mine}}}`
	r.Apply(fmt.Sprintf(payments, "child"))
	r.refused("", "create -f -", fmt.Sprintf(payments, "shop"), "would take the place")
	for _, name := range []string{"payments", "own"} {
		r.do("kcuser", "create -f -", connect(name, `annotations: {eks.amazonaws.com/role-arn: "arn:mine"}`, ""))
	}
	r.See(`sa own-connect -n {child} -o jsonpath={.metadata.annotations.eks\.amazonaws\.com/role-arn}`, "arn:mine") // it is copied
	r.failed("payments", "would take the place")
	r.See("sa payments-connect -n {child} -o jsonpath={.metadata.annotations}", `{"note":"mine"}`)
	r.See("sa payments-connect -n {shop} -o name", "")
}
