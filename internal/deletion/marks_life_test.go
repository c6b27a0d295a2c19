// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
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

const version = "jsonpath={.metadata.resourceVersion}"

// Nobody but the policies is needed for what is marked; a manager that comes back
// finds everything as it should be, and writes nothing.
func TestMarks_holdWhileHoldfastIsDownAndAreNotWrittenAgain(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	configMap(t, e, ns, "selected")
	// Selected itself, and the owner of something protected: two marks on one.
	uid := e.Kubectl(t, "get", "configmap", "selected", "-n", ns, "-o", "jsonpath={.metadata.uid}").Stdout
	e.Apply(t, ns, `{apiVersion: v1, kind: Secret, metadata: {name: labelled, labels: {holdfast.dev/deletion-protected: Always}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: selected, uid: `+uid+`}]}}`)
	configMap(t, e, ns, "later")
	selectConfigMaps(t, e, ns, "mine", "selected, later")
	two := func() string { return annotation(t, e, v1alpha1.HoldsProtectedMark, "namespace", ns)() }
	g.Eventually(two, "180s", "100ms").Should(gomega.HavePrefix("3 protected objects"))
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "configmap", "selected", "-n", ns), "180s", "100ms").Should(gomega.Equal("true"))
	status := func() string {
		return e.Kubectl(t, "get", "rdp", "mine", "-o", "jsonpath={.status.matches.total}").Stdout
	}
	g.Eventually(status, "180s", "100ms").Should(gomega.Equal("2"))
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	g.Expect(refused(t, e, "delete", "configmap", "later", "-n", ns)).To(gomega.ContainSubstring("ResourceDeletionProtection mine"))
	g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring("3 protected objects"))

	versions := func() string {
		return e.Kubectl(t, "get", "namespace/"+ns, "-o", version).Stdout + e.Kubectl(t, "get", "rdp/mine", "-o", version).Stdout +
			e.Kubectl(t, "get", "configmap/selected", "-n", ns, "-o", version).Stdout
	}
	before := versions()
	e.Manager = e.StartManager(t)
	known := func() float64 { return e.Metric(t, "holdfast_deletion_known_objects") }
	g.Eventually(known, "180s", "100ms").Should(gomega.BeNumerically(">=", 4))
	g.Eventually(func() float64 { return e.Metric(t, "holdfast_deletion_watches_unsynced") }, "180s", "100ms").Should(gomega.BeZero())
	g.Consistently(func() string {
		return fmt.Sprintf("%s %v writes", versions(), e.Metric(t, "holdfast_marks_writes_total"))
	}, "4s", "200ms").Should(gomega.Equal(before + " 0 writes"))

	// What happened while nobody looked is made good.
	if err := e.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	done(t, e, "delete", "rdp", "mine")
	configMap(t, e, ns, "new", strict+"=Always")
	e.Manager = e.StartManager(t)
	g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "configmap", "selected", "-n", ns), "180s", "100ms").Should(gomega.BeEmpty())
	g.Eventually(two, "180s", "100ms").Should(gomega.Equal("2 protected objects: configmaps/new, secrets/labelled"))
	done(t, e, "delete", "configmap", "later", "-n", ns)
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
		uid := e.Kubectl(t, "get", "configmap", name, "-n", ns, "-o", "jsonpath={.metadata.uid}").Stdout
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
