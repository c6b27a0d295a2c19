// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

func role(namespace, name, verb string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: ` + name + `, namespace: "{` + namespace + `}"}, rules: [{apiGroups: [""], resources: [pods], verbs: [` + verb + `]}]}` + "\n---\n"
}

const verbs = " -o jsonpath={.rules[0].verbs[0]}"

// What a hierarchy has copied is no RootSync's, whatever its source says: it is told so,
// has the rest of what it declares, and takes nothing along when it declares it no longer.
func TestTogether_5_aRootSyncDoesNotAdoptACopy(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("p"))
	r.Apply(anchor("p", "s"))
	r.Apply(role("p", "view", "get"))
	r.See("role view -n {s}"+verbs, "get")

	r.Commit("sync", role("s", "view", "list")+cm("s", "own", "1"))
	r.See("cm own -n {s} -o jsonpath={.data.v}", "1")
	r.Says("sync", "it is a copy, which the hierarchy keeps as it is in the namespace {p}")
	r.Consistently(func() string { return r.Run("get role view -n {s}" + verbs).Stdout }, "3s", "500ms").Should(gomega.Equal("get"))
	r.answers("owner role view -n {s}", 0, "owner: Role.rbac.authorization.k8s.io {p}/view, of which it is a propagated copy")
	r.answers("why update role view -n {s}", 3, "the update would be refused",
		"the policy holdfast-hierarchy-copies (Holdfast: hierarchy)", "kubectl edit roles.rbac.authorization.k8s.io/view -n {p}")
	r.answers("why prune role view -n {s}", 1, "no RootSync has Role.rbac.authorization.k8s.io {s}/view")

	r.Synced("sync", r.Commit("sync", cm("s", "own", "1")))
	r.See("role view -n {s}"+verbs, "get")
}

// What a RootSync declares in a namespace is not written over from above: who would have
// that done is refused, and told where.
func TestTogether_5_aHierarchyDoesNotOverwriteWhatARootSyncDeclares(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("p"))
	r.Apply(anchor("p", "s"))
	r.See("ns {s} -o name", "namespace/{s}\n")
	commit := r.Commit("sync", role("s", "view", "list")+ns("c")+role("c", "view", "list"))
	r.Synced("sync", commit)

	r.Eventually(func() string {
		return r.KubectlInput(t, r.Long(role("p", "view", "get")), "apply", "-f", "-").Stderr
	}, story.Patience, story.Slower).Should(gomega.And(gomega.ContainSubstring(`Role "view" would take the place of others of its name`), gomega.ContainSubstring(r.Long("{s}"))))
	r.Apply(role("p", "edit", "get"))
	r.See("role edit -n {s}"+verbs, "get")

	// Nor does a namespace move below one with something of that name.
	r.Apply(ns("q") + role("q", "view", "get"))
	r.Eventually(func() string {
		return r.KubectlInput(t, r.Long(hierarchy("c", `{parent: "{q}"}`)), "apply", "-f", "-").Stderr
	}, story.Patience, story.Slower).Should(gomega.ContainSubstring("objects from above would take the place of others: Role "))
	r.See("role view -n {c}"+verbs, "list")
	r.See("role view -n {s}"+verbs, "list")
	r.Synced("sync", commit)
	r.answers("owner role view -n {s}", 0, "owner: RootSync {sync} (declared)", "x.yaml")
}
