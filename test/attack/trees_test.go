// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// guard is the identity of Holdfast, with which a test does what an older version did.
const guard = "system:serviceaccount:holdfast-system:holdfast-guard"

const keep = `{apiVersion: v1, kind: ConfigMap, metadata: {name: keep, namespace: "{child}", labels: {` + protected + `}}}` + "\n---\n"

// dba is a Role that a namespace's admin does not hold, in the subnamespace.
const dba = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: dba, namespace: "{child}"},
  rules: [{apiGroups: [holdfast.dev], resources: [resourcedeletionprotections], verbs: [unprotect]}]}` + "\n---\n"

// mine is a RoleBinding of {nsadmin} to that name.
func mine(namespace, labels string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: mine, namespace: "` + namespace + `", labels: {` + labels + `}},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: dba}, subjects: [` + nsadmin + `]}` + "\n---\n"
}

// empty is a Role of that name without rules.
func empty(annotations string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: dba, namespace: "{shop}", annotations: {` + annotations + `}}, rules: []}` + "\n---\n"
}

// alone keeps an object from being copied.
const alone = `propagate.hnc.x-k8s.io/none: "true"`

const copied = `hnc.x-k8s.io/inherited-from: "{shop}", app.kubernetes.io/managed-by: hnc.x-k8s.io`

// tenantWithChild makes the namespace shop of a tenant, with a subnamespace that has the copies.
func (r *rig) tenantWithChild() {
	r.T.Helper()
	r.tenant("{shop}")
	r.ApplyAs("{nsadmin}", child)
	r.See("rolebinding admin -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
}

// family is a tenant with a subnamespace, where an administrator has a stronger Role and something protected.
func (r *rig) family() {
	r.T.Helper()
	r.tenantWithChild()
	r.Apply(dba + keep)
}

// cannotUnprotect expects that the tenant has not got the rights of the Role.
func (r *rig) cannotUnprotect() {
	r.T.Helper()
	out := r.Run("label configmap keep -n {child} holdfast.dev/deletion-protected- --dry-run=server --as={nsadmin}")
	r.Expect(out.Stderr).To(gomega.ContainSubstring("unprotect"))
}

// A tenant creates a Role without rights in the parent, keeps it from being copied, and binds it: in the child that name is
// a stronger Role.
func TestH4_aCopiedRoleBindingGrantsNoStrongerRoleOfTheChild(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.family()
	r.ApplyAs("{nsadmin}", empty(alone)+mine("{shop}", ""))
	r.event("{shop}", "mine", "CannotPropagateObject")
	r.See("rolebinding mine -n {child} -o name", "")
	r.cannotUnprotect()

	// Where the child's Role is a copy of the tenant's, the RoleBinding is copied too.
	r.Run("delete role dba -n {child}")
	r.ApplyAs("{nsadmin}", empty(""))
	r.See("rolebinding mine -n {child} -o jsonpath={.roleRef.name}", "dba")
	r.See(`role dba -n {child} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "{shop}")

	// It does not stay behind for the next Role of that name.
	r.ApplyAs("{nsadmin}", empty(alone))
	r.See("role,rolebinding -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
	r.Apply(dba)
	r.cannotUnprotect()
}

// The Role that a RoleBinding refers to need not exist, or may have a finalizer, with which its copies do not follow it.
func TestH4_variants(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, test := range map[string]func(*rig){
		"the Role does not exist in the parent": func(r *rig) {
			r.family()
			r.Apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: binder, namespace: "{shop}", annotations: {` + alone + `}},
  rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [dba], verbs: [bind]}]}` + "\n---\n" +
				`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: binder, namespace: "{shop}", annotations: {` + alone + `}},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: binder}, subjects: [` + nsadmin + `]}`)
			r.ApplyAs("{nsadmin}", mine("{shop}", ""))
			r.event("{shop}", "mine", "CannotPropagateObject")
			r.See("rolebinding mine -n {child} -o name", "")
			r.cannotUnprotect()
		},
		"an older version has copied the RoleBinding": func(r *rig) {
			r.family()
			r.ApplyAs("{nsadmin}", empty(alone)+mine("{shop}", ""))
			r.event("{shop}", "mine", "CannotPropagateObject")
			r.ApplyAs(guard, mine("{child}", copied))
			r.See("rolebinding mine -n {child} -o name", "")
			r.cannotUnprotect()
		},
		"the rules of the parent's Role shrink, and its copy keeps them": func(r *rig) {
			r.tenant("{shop}")
			r.ApplyAs("{nsadmin}", child)
			strong := `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: dba, namespace: "{shop}", finalizers: [%s]},
  rules: [{apiGroups: [holdfast.dev], resources: [resourcedeletionprotections], verbs: [unprotect]}]}`
			r.Apply(fmt.Sprintf(strong, ""))
			r.See("role dba -n {child} -o name", "role.rbac.authorization.k8s.io/dba\n")
			r.Apply(keep)
			r.Apply(fmt.Sprintf(strong, "example.com/held"))
			r.Expect(r.Run(`patch role dba -n {shop} --type=merge -p {"rules":[]} --as={nsadmin}`).Stderr).To(gomega.BeEmpty())
			r.ApplyAs("{nsadmin}", mine("{shop}", "")+binding("{shop}", "fence", "view", nsadmin, ""))
			r.See("rolebinding fence -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/fence\n")
			r.See("rolebinding mine -n {child} -o name", "")
			r.cannotUnprotect()
			r.Run(`patch role dba -n {shop} --type=merge -p {"metadata":{"finalizers":null}}`)
			r.See("rolebinding mine -n {child} -o jsonpath={.roleRef.name}", "dba")
			r.cannotUnprotect()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(shared(t))
		})
	}
}

const enforce = "pod-security.kubernetes.io/enforce"

// privileged is a pod that a restricted namespace refuses.
const privileged = `{apiVersion: v1, kind: Pod, metadata: {name: root, namespace: "{child}"},
  spec: {hostPID: true, containers: [{name: root, image: root, securityContext: {privileged: true}}]}}`

func (r *rig) refusesPrivilegedPods() {
	r.T.Helper()
	r.Eventually(func() string {
		return r.KubectlInput(r.T, r.Long(privileged), "create", "--dry-run=server", "-f", "-", "--as="+r.Long("{nsadmin}")).Stderr
	}, story.Patience, story.Slower).Should(gomega.ContainSubstring(`violates PodSecurity "restricted:latest"`))
}

func (r *rig) enforces(namespace, level string) {
	r.T.Helper()
	r.See("namespace "+namespace+` -o jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`, level)
}

// A tenant of a restricted namespace creates a subnamespace, before or after it is restricted.
func TestH5_subnamespacesHaveThePodSecurityOfTheirParent(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenantWithChild()
	r.Expect(r.Run("label namespace {shop} " + enforce + "=restricted").Stderr).To(gomega.BeEmpty())
	r.enforces("{child}", "restricted")
	r.refusesPrivilegedPods()

	r.ApplyAs("{nsadmin}", `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{grandchild}", namespace: "{child}"}}`)
	r.See("rolebinding admin -n {grandchild} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
	r.enforces("{grandchild}", "restricted")

	for _, ask := range []string{
		"label namespace {child} " + enforce + "=privileged --overwrite", "annotate namespace {child} holdfast.dev/inherited-pod-security-",
	} {
		r.Expect(r.Run(ask + " --as={nsadmin}").Stderr).To(gomega.ContainSubstring("forbidden"))
	}

	// An administrator decides otherwise.
	r.Run("label namespace {child} " + enforce + "=baseline --overwrite")
	r.enforces("{grandchild}", "baseline")
	r.Run("label namespace {shop} " + enforce + "=privileged --overwrite")
	r.ApplyAs("{nsadmin}", `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{second}", namespace: "{shop}"}}`)
	r.enforces("{second}", "privileged")
	r.enforces("{child}", "baseline")
}

// managedLabels are so wide here that they match the labels of PodSecurity.
func TestM6_managedLabelsAreNeverThoseOfPodSecurity(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Expect(r.Run("label namespace {shop} " + enforce + "=restricted team.kubernetes.io/colour=blue").Stderr).To(gomega.BeEmpty())
	hierarchy := func(key string) string {
		return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: "{shop}"}, spec: {labels: [{key: ` + key + `, value: red}]}}`
	}
	r.ApplyAs("{nsadmin}", hierarchy("team.kubernetes.io/colour"))
	r.See(`namespace {shop} -o jsonpath={.metadata.labels.team\.kubernetes\.io/colour}`, "red")
	r.enforces("{shop}", "restricted")
	out := r.KubectlInput(t, r.Long(hierarchy(enforce)), "apply", "-f", "-", "--as="+r.Long("{nsadmin}"))
	r.Expect(out.Stderr).To(gomega.ContainSubstring(`does not let the label "` + enforce + `" be managed`))

	// One that is there already is reported, and has no effect.
	r.ApplyAs(guard, hierarchy(enforce))
	r.See("hierarchyconfiguration hierarchy -n {shop} -o jsonpath={.status.conditions[*].reason}", "IllegalManagedLabel")
	r.enforces("{shop}", "restricted")
}
