// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

const (
	label     = "configsync.gke.io/sync-kind: RootSync"
	protected = "holdfast.dev/deletion-protected: Always"
)

// edits is a role of a RootSync: edit in a namespace.
func edits(namespace string) string {
	return `{kind: ClusterRole, name: edit, namespace: "` + namespace + `"}`
}

// derived is the name that Holdfast gives the binding of edit in a namespace.
func (r *rig) derived(sync, namespace string) string {
	sum := sha256.Sum256([]byte(r.Long("ClusterRole/" + namespace + "/edit")))
	return r.Long("root-reconciler-{"+sync+"}-") + hex.EncodeToString(sum[:5])
}

// account is that of a RootSync, as the subject of a binding.
func account(sync string) string {
	return `{kind: ServiceAccount, namespace: ` + story.Syncs + `, name: "root-reconciler-{` + sync + `}"}`
}

// A tenant writes RoleBindings that look like those of RootSyncs. They stall no RootSync, and those for others than its
// account stay. Only the RootSync whose own binding cannot be written reports that.
func TestH2_aTenantsRoleBindingsStallNoRootSync(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.tenant("{other}")
	squat := r.derived("x", "{shop}")
	r.ApplyAs("{nsadmin}", binding("{shop}", "jam", "view", nsadmin, label+", "+protected)+
		binding("{shop}", "mine", "view", nsadmin, label)+
		binding("{shop}", squat, "view", nsadmin, protected)+
		binding("{shop}", "root-reconciler-{y}-kept", "view", account("y"), label+", "+protected)+
		binding("{shop}", "root-reconciler-{y}-goes", "view", account("y"), label))

	r.Synced("z", r.Commit("z", "", edits("{gone}")))
	r.event(story.Syncs, "{z}", "NoNamespace")
	x := r.Commit("x", cm("{shop}", "one"), edits("{shop}"))
	y := r.Commit("y", cm("{other}", "one"), edits("{other}"))
	r.Synced("x", x)
	r.Synced("y", y)
	r.Synced("y", r.Commit("y", cm("{other}", "two"), edits("{other}")))

	r.event("{shop}", "jam", "NotOfRootSync")
	r.event("{shop}", "root-reconciler-{y}-kept", "CannotDelete")
	r.See("rolebinding root-reconciler-{y}-goes -n {shop} -o name", "")
	for _, name := range []string{"jam", "mine", squat} {
		r.See("rolebinding "+name+" -n {shop} -o jsonpath={.subjects[*].name}", "{nsadmin}")
		r.Expect(r.Deletes("", "rolebindings", "{shop}", name)).To(gomega.BeZero(), name)
	}
}

// Holdfast has copied a tenant's RoleBinding under that name to the subnamespace, where only Holdfast may change it.
func TestH2_aCopyUnderTheNameOfABindingStallsNoRootSync(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	squat := r.derived("x", "{child}")
	r.ApplyAs("{nsadmin}", binding("{shop}", squat, "view", nsadmin, "")+child)
	r.See("rolebinding "+squat+" -n {child} -o jsonpath={.roleRef.name}", "view")
	r.Synced("x", r.Commit("x", cm("{child}", "one"), edits("{child}")))
	r.See("rolebinding "+squat+" -n {child} -o jsonpath={.roleRef.name}", "view")
}

const child = `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{child}", namespace: "{shop}"}}`

// The rights of a RootSync in a namespace do not extend to a subnamespace that a tenant creates there.
func TestH6_rightsOfRootSyncsStayInTheirNamespace(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Synced("x", r.Commit("x", cm("{shop}", "one"), edits("{shop}")))
	r.ApplyAs("{nsadmin}", child)
	r.See("rolebinding admin -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
	const write = "create configmap two --dry-run=server --as=system:serviceaccount:" + story.Syncs + ":root-reconciler-{x} -n "
	r.Expect(r.Run(write + "{shop}").Stderr).To(gomega.BeEmpty())
	r.Expect(r.Run(write + "{child}").Stderr).To(gomega.ContainSubstring("is forbidden"))

	// An older version has copied the RoleBinding.
	copied := r.derived("x", "{shop}")
	r.ApplyAs("system:serviceaccount:holdfast-system:holdfast-guard", binding("{child}", copied, "edit", account("x"), label+
		`, configsync.gke.io/sync-name: "{x}", hnc.x-k8s.io/inherited-from: "{shop}", app.kubernetes.io/managed-by: hnc.x-k8s.io`))
	r.See("rolebinding "+copied+" -n {child} -o name", "")
	r.Synced("x", r.Commit("x", cm("{shop}", "two"), edits("{shop}")))
}
