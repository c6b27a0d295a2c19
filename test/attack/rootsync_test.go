// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
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
	sum := sha256.Sum256([]byte(r.long("ClusterRole/" + namespace + "/edit")))
	return r.long("root-reconciler-{"+sync+"}-") + hex.EncodeToString(sum[:5])
}

// account is that of a RootSync, as the subject of a binding.
func account(sync string) string {
	return `{kind: ServiceAccount, namespace: ` + syncs + `, name: "root-reconciler-{` + sync + `}"}`
}

// A tenant writes RoleBindings that look like those of RootSyncs. They stall no RootSync, and those for others than its
// account stay. Only the RootSync whose own binding cannot be written reports that.
func TestH2_aTenantsRoleBindingsHoldUpNoRootSync(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.tenant("{other}")
	squat := r.derived("x", "{shop}")
	r.apply("{nsadmin}", binding("{shop}", "jam", "view", nsadmin, label+", "+protected)+
		binding("{shop}", "mine", "view", nsadmin, label)+
		binding("{shop}", squat, "view", nsadmin, protected)+
		binding("{shop}", "root-reconciler-{y}-kept", "view", account("y"), label+", "+protected)+
		binding("{shop}", "root-reconciler-{y}-goes", "view", account("y"), label))

	r.commit("z", edits("{gone}"), "")
	r.says("z", gomega.And(gomega.HavePrefix("stalled: "), gomega.ContainSubstring("apply RoleBinding "+r.long("{gone}/")+r.derived("z", "{gone}"))))
	x := r.commit("x", edits("{shop}"), cm("{shop}", "one"))
	y := r.commit("y", edits("{other}"), cm("{other}", "one"))
	r.synced("x", x)
	r.synced("y", y)
	r.synced("y", r.commit("y", edits("{other}"), cm("{other}", "two")))

	r.told("{shop}", "jam", "NotOfRootSync")
	r.told("{shop}", "root-reconciler-{y}-kept", "CannotDelete")
	r.see("rolebinding root-reconciler-{y}-goes -n {shop} -o name", "")
	for _, name := range []string{"jam", "mine", squat} {
		r.see("rolebinding "+name+" -n {shop} -o jsonpath={.subjects[*].name}", "{nsadmin}")
		r.Expect(r.deletes("rolebindings", "{shop}", name)).To(gomega.BeZero(), name)
	}
}

// A RoleBinding of the tenant's takes the name in a namespace below, as a copy, which only Holdfast may change.
func TestH2_aCopyUnderTheNameOfABindingHoldsUpNoRootSync(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	squat := r.derived("x", "{child}")
	r.apply("{nsadmin}", binding("{shop}", squat, "view", nsadmin, "")+child)
	r.see("rolebinding "+squat+" -n {child} -o jsonpath={.roleRef.name}", "view")
	r.synced("x", r.commit("x", edits("{child}"), cm("{child}", "one")))
	r.see("rolebinding "+squat+" -n {child} -o jsonpath={.roleRef.name}", "view")
}

const child = `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{child}", namespace: "{shop}"}}`

// What a RootSync may do in a namespace it may not do in a subnamespace that a tenant makes below it.
func TestH6_rightsOfRootSyncsStayInTheirNamespace(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.synced("x", r.commit("x", edits("{shop}"), cm("{shop}", "one")))
	r.apply("{nsadmin}", child)
	r.see("rolebinding admin -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
	const write = "create configmap two --dry-run=server --as=system:serviceaccount:" + syncs + ":root-reconciler-{x} -n "
	r.Expect(r.kubectl(write + "{shop}").Stderr).To(gomega.BeEmpty())
	r.Expect(r.kubectl(write + "{child}").Stderr).To(gomega.ContainSubstring("is forbidden"))

	// A former version has made copies.
	copied := r.derived("x", "{shop}")
	r.apply("system:serviceaccount:holdfast-system:holdfast-guard", binding("{child}", copied, "edit", account("x"), label+
		`, configsync.gke.io/sync-name: "{x}", hnc.x-k8s.io/inherited-from: "{shop}", app.kubernetes.io/managed-by: hnc.x-k8s.io`))
	r.see("rolebinding "+copied+" -n {child} -o name", "")
	r.synced("x", r.commit("x", edits("{shop}"), cm("{shop}", "two")))
}
