// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// valued is a ConfigMap with a value.
func valued(namespace, name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %q}, data: {v: %q}}\n---\n", name, namespace, value)
}

func ns(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %q}}\n---\n", name)
}

func clusterRole(name string) string {
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %q}, rules: []}\n---\n", name)
}

// has waits until a ConfigMap has a value.
func (r *rig) has(namespace, name, value string) {
	r.T.Helper()
	r.See("configmap "+name+" -n "+namespace+" -o jsonpath={.data.v}", value)
}

// claims are those that are written on a namespace.
func (r *rig) claims(namespace string) string {
	r.T.Helper()
	return r.Run("get namespace " + namespace + ` --ignore-not-found -o jsonpath={.metadata.annotations.holdfast\.dev/claims}`).Stdout
}

// A committer to the repository of an older RootSync, which may edit one namespace, declares what others have or will
// declare. Neither do the others wait for it, nor is its claim written on a Namespace.
func TestH7_whoMayNotWriteAnObjectDoesNotBlockIt(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Apply(ns("{victim}") + ns("{other}"))
	mine := cm("{shop}", "own")
	r.Synced("claimer", r.Commit("claimer", mine, edits("{shop}")))
	r.Synced("plat", r.Commit("plat", valued("{victim}", "live", "1")))

	const forbidden = "system:serviceaccount:config-management-system:root-reconciler-{claimer}"
	r.Commit("claimer", mine+ns("{team}")+ns("{other}")+ns("kube-public")+clusterRole("{platrole}")+
		valued("{victim}", "live", "attack")+valued("{victim}", "prodcfg", "attack"), edits("{shop}"))
	for _, id := range []string{"Namespace, /{team}", "Namespace, /{other}", "Namespace, /kube-public", "ClusterRole.rbac.authorization.k8s.io, /{platrole}", "ConfigMap, {victim}/prodcfg"} {
		r.Says("claimer", "KNV2013: failed to apply "+id)
	}
	r.Says("claimer", "KNV2013: failed to apply ConfigMap, {victim}/live: "+forbidden+" may not write it, so that this RootSync has no claim on it, and RootSync {plat} owns it")

	commit := r.Commit("plat", ns("{team}")+ns("{other}")+clusterRole("{platrole}")+valued("{team}", "x", "1")+valued("{victim}", "live", "2")+valued("{victim}", "prodcfg", "2"))
	r.Synced("plat", commit)
	r.has("{victim}", "live", "2")
	r.has("{victim}", "prodcfg", "2")
	r.has("{team}", "x", "1")
	r.Run(`patch configmap live -n {victim} --type=merge -p {"data":{"v":"by-hand"}}`)
	r.has("{victim}", "live", "2")
	r.Synced("plat", commit)
	for _, name := range []string{"{team}", "{other}", "kube-public"} {
		if text := r.claims(name); strings.Contains(text, r.Long("{claimer}")) {
			t.Errorf("what it may not write has its claim: %s: %s", name, text)
		}
	}

	// With the right it counts as the older one, and without it does not.
	wide := valued("{victim}", "live", "older") + mine
	r.Synced("claimer", r.Commit("claimer", wide, edits("{shop}"), edits("{victim}")))
	r.has("{victim}", "live", "older")
	r.Says("plat", "KNV1060: ")
	r.Commit("claimer", wide, edits("{shop}"))
	r.has("{victim}", "live", "2")
	r.Synced("plat", commit)
	r.Says("claimer", "KNV2013: failed to apply ConfigMap, {victim}/live")
}

// A RootSync that declares objects in a namespace, and may not write them, keeps neither that namespace nor an object in it
// from being pruned by the one that has it.
func TestH7_whoMayNotWriteInANamespaceKeepsNothingFromGoing(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Synced("plat", r.Commit("plat", ns("{m}")+ns("{n}")+ns("{k}")+valued("{m}", "x", "1")))
	r.Commit("user", cm("{shop}", "own")+cm("{n}", "squat")+cm("{k}", "used")+valued("{m}", "x", "squat"), edits("{shop}"), edits("{k}"))
	r.Says("user", "KNV2013: failed to apply ConfigMap, {n}/squat")
	r.See("configmap used -n {k} -o name", "configmap/used\n")

	r.Commit("plat", ns("{m}"))
	r.See("namespace {n} -o name", "")
	r.See("configmap x -n {m} -o name", "")
	r.Says("plat", "namespace still in use: {k}, by RootSync {user}")
	r.See("configmap used -n {k} -o name", "configmap/used\n")
}

// The API server authorizes the patch of a Namespace in that Namespace, so that a RoleBinding there is a right to it.
func TestH7_aRoleInANamespaceIsARightToTheNamespace(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{shop}"))
	const admin = `{kind: ClusterRole, name: cluster-admin, namespace: "{shop}"}`
	r.Synced("user", r.Commit("user", ns("{shop}")+cm("{shop}", "own"), admin))
	r.Expect(r.claims("{shop}")).To(gomega.ContainSubstring(r.Long("{user}")))
}

// A tenant deletes one of the namespaces in which a RootSync has a role. It goes on in the others, ends when it is deleted, and
// has its role again when the namespace is there again.
func TestH7_aNamespaceThatIsGoneStopsNoRootSync(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{shop}"))
	both := []string{edits("{shop}"), edits("{gone}")}
	r.Commit("user", cm("{shop}", "one")+cm("{gone}", "two"), both...)
	r.See("configmap one -n {shop} -o name", "configmap/one\n")
	r.See("events -n "+story.Syncs+" --field-selector involvedObject.name={user},reason=NoNamespace -o jsonpath={.items[0].reason}", "NoNamespace")
	r.Apply(ns("{gone}"))
	r.See("configmap two -n {gone} -o name", "configmap/two\n")

	r.Run("delete namespace {gone}")
	r.Commit("user", cm("{shop}", "three")+cm("{gone}", "two"), both...)
	r.See("configmap three -n {shop} -o name", "configmap/three\n")
	r.Run("delete rootsync {user} -n " + story.Syncs)
	r.See("rootsync {user} -n "+story.Syncs+" -o name", "")
}

// A claim that is written, of a RootSync that has lost the right since.
func TestH7_aClaimWithoutTheRightIsTakenBack(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Apply(ns("{other}"))
	r.Commit("claimer", cm("{shop}", "own")+ns("{other}"), edits("{shop}"))
	r.Says("claimer", "KNV2013: failed to apply Namespace, /{other}")
	uid := r.Run("get namespace {other} -o jsonpath={.metadata.uid}").Stdout
	written := "of " + uid + ", found, declared rootsync/config-management-system/{claimer} 2026-11-01T00:00:00Z"
	out := r.Kubectl(t, "annotate", "namespace", r.Long("{other}"), r.Long("holdfast.dev/claims="+written), "--as=system:serviceaccount:holdfast-system:holdfast-sync")
	r.Expect(out.Stderr).To(gomega.BeEmpty())
	r.See(`namespace {other} -o jsonpath={.metadata.annotations.holdfast\.dev/claims}`, "")
	r.Synced("plat", r.Commit("plat", ns("{other}")+cm("{other}", "x")))
	r.Expect(r.claims("{other}")).NotTo(gomega.ContainSubstring("claimer"))
}

// A tenant has taken the name of a RootSync's binding: the RootSync says so, once.
func TestH2_theRootSyncIsToldThatTheNameOfItsBindingIsTaken(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	squat := r.derived("x", "{shop}")
	r.ApplyAs("{nsadmin}", binding("{shop}", squat, "view", nsadmin, ""))
	r.Synced("x", r.Commit("x", cm("{shop}", "one"), edits("{shop}")))
	r.event(story.Syncs, "{x}", "BindingNameTaken")

	bindings := "rolebindings -n {shop} -l configsync.gke.io/sync-name={x} -o jsonpath={.items[*].metadata.name}"
	first := r.Run("get " + bindings).Stdout
	r.Expect(first).To(gomega.HavePrefix(r.Long("root-reconciler-{x}-")))
	r.Expect(r.Run("delete rolebinding -n {shop} " + first).Stderr).To(gomega.BeEmpty())
	r.Eventually(func() string { return r.Run("get " + bindings).Stdout }, story.Patience, story.Slower).
		Should(gomega.And(gomega.HavePrefix(r.Long("root-reconciler-{x}-")), gomega.Not(gomega.Equal(first))))
	r.Synced("x", r.Commit("x", cm("{shop}", "two"), edits("{shop}")))
	told := r.Run("get events -n " + story.Syncs + " --field-selector involvedObject.name={x},reason=BindingNameTaken -o name").Stdout
	r.Expect(strings.Fields(told)).To(gomega.HaveLen(1))
}

// A link that leads out of the repository is an error of the RootSync in whose folder it is, and of no other.
func TestL10_aLinkThatLeadsOutConcernsWhoReadsIt(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{shop}"))
	commit := r.Repo("links").Commit(t, map[string]string{
		"deploy/x.yaml": r.Long(cm("{shop}", "x")), "deploy/base": gitserver.Symlink("../base"), "base/b.yaml": r.Long(cm("{shop}", "b")),
		"absolute": gitserver.Symlink("/etc/passwd"), "other/out.yaml": gitserver.Symlink("../../out"),
		"kustomized/kustomization.yaml": "resources: [z.yaml]\n", "kustomized/z.yaml": r.Long(cm("{shop}", "z")), "kustomized/unused": gitserver.Symlink("/etc"),
		"folder/manifests": gitserver.Symlink("/etc"),
	})
	for sync, dir := range map[string]string{"deploy": "deploy", "kustomized": "kustomized", "other": "other", "folder": "folder"} {
		r.Apply(fmt.Sprintf(`{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: "{%s}", namespace: %s},
			spec: {sourceFormat: unstructured, git: {repo: %q, dir: %s, branch: main, auth: none, period: 1s}}}`, sync, story.Syncs, r.Repo("links").URL(), dir))
	}
	r.Synced("deploy", commit)
	r.Synced("kustomized", commit)
	r.See("configmap b -n {shop} -o name", "configmap/b\n")
	r.Says("other", "KNV2001: other/out.yaml cannot be read: other/out.yaml: it leads out of the repository")
	r.Says("folder", "KNV2001: folder/manifests cannot be read: folder/manifests: it leads out of the repository")
}

// A tenant has the namespace of RootSyncs below one of theirs, whose admins are admins of it: nothing is synced, and no
// account gets anything, until it is in no tree.
func TestH1_nothingIsSyncedFromANamespaceInATree(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	sync := e.StartSync(t, "--leader-elect=false")
	r := &rig{story.On(t, e, e.Namespace(t))}
	r.Apply(ns("{n}"))
	r.Synced("a", r.Commit("a", valued("{n}", "x", "1")))
	const home = "namespace " + story.Syncs
	ready := func() int {
		answer, err := http.Get(sync.Probes + "/readyz") //nolint:noctx // of a process of the test
		if err != nil {
			return 0
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode
	}
	for i, below := range []struct{ in, out string }{
		{"annotate " + home + " hnc.x-k8s.io/subnamespace-of=shop", "annotate " + home + " hnc.x-k8s.io/subnamespace-of-"},
		{"label " + home + " shop.tree.hnc.x-k8s.io/depth=1", "label " + home + " shop.tree.hnc.x-k8s.io/depth-"},
	} {
		r.Expect(r.Run(below.in).Stderr).To(gomega.BeEmpty())
		r.Says("a", "stalled: KNV1061: the namespace config-management-system is below shop in a tree of namespaces", "nothing is synced until it is in no tree")
		value := fmt.Sprint(i + 2)
		a := r.Commit("a", valued("{n}", "x", value))
		name := fmt.Sprint("b", i)
		b := r.Commit(name, valued("{n}", name, "1"))
		r.Says(name, "stalled: KNV1061: ")
		r.Eventually(ready, story.Patience, story.Often).Should(gomega.Equal(http.StatusInternalServerError))
		r.Expect(r.Run("get serviceaccount root-reconciler-{" + name + "} -n " + story.Syncs + " --ignore-not-found").Stdout).To(gomega.BeEmpty())
		r.See("clusterrolebinding configsync.gke.io:root-reconciler -o name", "") // who administers the parent could act as {a}
		r.has("{n}", "x", fmt.Sprint(i+1))

		r.Expect(r.Run(below.out).Stderr).To(gomega.BeEmpty())
		r.Synced("a", a)
		r.Synced(name, b)
		r.has("{n}", "x", value)
		r.Eventually(ready, story.Patience, story.Often).Should(gomega.Equal(http.StatusOK))
		r.Run("delete rootsync {" + name + "} -n " + story.Syncs)
		r.See("clusterrolebinding configsync.gke.io:root-reconciler -o jsonpath={.subjects[*].name}", "root-reconciler-{a}")
	}
	for _, reason := range []string{"InTree", "InNoTree"} {
		r.See("events -n default --field-selector involvedObject.name="+story.Syncs+",reason="+reason+" -o jsonpath={.items[0].reason}", reason)
	}

	// It goes with all RootSyncs, as the remedy says, and the tenant makes it anew.
	r.Expect(r.Run("annotate " + home + " hnc.x-k8s.io/subnamespace-of=shop").Stderr).To(gomega.BeEmpty())
	r.Says("a", "stalled: KNV1061: ")
	r.Run("delete rootsync {a} -n " + story.Syncs)
	r.has("{n}", "x", "3")
	r.See("clusterrolebinding configsync.gke.io:root-reconciler -o name", "")
	r.Run("delete " + home)
	r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + story.Syncs + `, annotations: {hnc.x-k8s.io/subnamespace-of: shop}}}`)
	r.Commit("c", valued("{n}", "c", "1"))
	r.Says("c", "stalled: KNV1061: ")
	r.See("clusterrolebinding configsync.gke.io:root-reconciler -o name", "")
	r.Expect(r.Run("get serviceaccount root-reconciler-{c} -n " + story.Syncs + " --ignore-not-found").Stdout).To(gomega.BeEmpty())
}
