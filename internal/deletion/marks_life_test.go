// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// selectConfigMaps makes a ResourceDeletionProtection of some ConfigMaps in a namespace.
func selectConfigMaps(t testing.TB, e *testkit.Env, ns, name, names string) {
	t.Helper()
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: `+name+`}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`}], resourceNames: [`+names+`]}]}}`)
}

// A mark that who may unprotect took away comes back while its cause stands, and
// everything above an owner that is itself owned is marked.
func TestMarks_followChainsOfOwnersAndComeBack(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	owner := ""
	for _, name := range []string{"top", "middle", "bottom"} {
		e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, ownerReferences: [`+owner+`]}}`)
		uid := read(t, e, "{.metadata.uid}", "configmap", name, "-n", ns)()
		owner = `{apiVersion: v1, kind: ConfigMap, name: ` + name + `, uid: ` + uid + `}`
	}
	done(t, e, "label", "configmap", "bottom", "-n", ns, strict+"=Always")
	for _, name := range []string{"top", "middle"} {
		g.Eventually(annotation(t, e, v1alpha1.HoldsProtectedMark, "configmap", name, "-n", ns), "180s", "100ms").
			Should(gomega.Equal("1 protected object: configmaps/bottom"))
	}
	g.Expect(refused(t, e, "delete", "configmap", "top", "-n", ns)).To(gomega.ContainSubstring("configmaps/bottom"))
	done(t, e, "delete", "configmap", "top", "-n", ns, "--cascade=orphan", "--dry-run=server")

	done(t, e, "label", "configmap", "top", "-n", ns, v1alpha1.HoldsProtectedMark+"-", v1alpha1.MarkedLabel+"-")
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "configmap", "top", "-n", ns), "180s", "100ms").Should(gomega.Equal("true"))

	done(t, e, "label", "configmap", "bottom", "-n", ns, strict+"-")
	for _, name := range []string{"top", "middle"} {
		g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", name, "-n", ns), "180s", "100ms").Should(gomega.BeEmpty())
	}
	done(t, e, "delete", "configmap", "top", "-n", ns)
}

func TestMarks_serviceWithReadyEndpoints(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: web, labels: {holdfast.dev/deletion-protected: Cascading}}, spec: {ports: [{port: 80}]}}`)
	slice := func(ready string) {
		e.Apply(t, ns, `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1], conditions: {ready: `+ready+`}}]}`)
	}
	slice("false")
	done(t, e, "delete", "service", "web", "-n", ns, "--dry-run=server")
	slice("true")
	g.Eventually(label(t, e, v1alpha1.InUseMark, "service", "web", "-n", ns), "180s", "100ms").Should(gomega.Equal("true"))
	g.Expect(refused(t, e, "delete", "service", "web", "-n", ns)).To(gomega.ContainSubstring("services/web is protected from deletion while it is in use by the label " + strict))
	slice("false")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "service", "web", "-n", ns), "180s", "100ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "service", "web", "-n", ns)
}
