// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
)

func TestTree_labelsSayWhereANamespaceStands(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tree("a b<a c<b d")
	r.Eventually(r.labels("c"), "60s", "50ms").Should(gomega.Equal("a=2 b=1 c=0"))
	r.Eventually(r.labels("a"), "60s", "50ms").Should(gomega.Equal("a=0"))
	r.Eventually(r.labels("d"), "60s", "50ms").Should(gomega.Equal("d=0"))
	r.Eventually(r.field("{.status.children}", "hierarchyconfiguration", "hierarchy", "-n", r.name("a")), "60s", "50ms").
		Should(gomega.Equal(`["` + r.name("b") + `"]`))
}

func TestPropagation_rolesGoDownAndAway(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tree("a b<a c<b")
	role := `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	r.Apply(t, r.name("a"), role)
	for _, ns := range []string{"b", "c"} {
		r.Eventually(r.field(`{.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "role", "x", "-n", r.name(ns)), "60s", "50ms").Should(gomega.Equal(r.name("a")))
	}
	r.Eventually(r.field(`{.status.conditions[?(@.type=="holdfast.dev/PropagationComplete")].status}`, "namespace", r.name("c")), "60s", "50ms").Should(gomega.Equal("True"))
	r.Kubectl(t, "delete", "role", "x", "-n", r.name("a"))
	r.Eventually(r.field(`{.items[*].metadata.name}`, "role", "-n", r.name("c")), "60s", "50ms").Should(gomega.Equal(""))
}

func TestAnchor_makesASubnamespace(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tree("a")
	r.Apply(t, r.name("a"), `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: `+r.name("s")+`}}`)
	r.Eventually(r.labels("s"), "60s", "50ms").Should(gomega.Equal("a=1 s=0"))
	r.Eventually(r.field("{.status.status}", "subns", r.name("s"), "-n", r.name("a")), "60s", "50ms").Should(gomega.Equal("Ok"))
	r.Eventually(r.field("{.spec.parent}", "hierarchyconfiguration", "hierarchy", "-n", r.name("s")), "60s", "50ms").Should(gomega.Equal(r.name("a")))
	r.Kubectl(t, "delete", "subns", r.name("s"), "-n", r.name("a"))
	r.Eventually(r.field("{.metadata.name}", "namespace", r.name("s")), "60s", "50ms").Should(gomega.ContainSubstring("not found"))
}
