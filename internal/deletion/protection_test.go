// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// protect makes a protection or changes it, and returns what takes it away.
func protect(t testing.TB, e *testkit.Env, name, spec string) (end func()) {
	t.Helper()
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: `+name+`}, spec: `+spec+`}`)
	return func() { takeAway(t, e, "rdp", name) }
}

// takeAway deletes something of the cluster as soon as that is allowed.
func takeAway(t testing.TB, e *testkit.Env, args ...string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string {
		return e.Kubectl(t, append([]string{"delete", "--ignore-not-found", "--wait=false"}, args...)...).Stderr
	}, "180s", "100ms").Should(gomega.BeEmpty())
}

func deployment(name, replicas string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `}, spec: {replicas: ` + replicas +
		`, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
}

func TestProtection_followsTheLabelsOfObjects(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	configMap(t, e, ns, "in", "tier=prod")
	configMap(t, e, ns, "out", "tier=test")
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`,
		labelSelector: {matchExpressions: [{key: tier, operator: In, values: [prod, live]}]}}]}]}`)
	defer end()

	g.Eventually(protectedBy(t, e, "configmap", "in", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Expect(refused(t, e, "delete", "configmap", "in", "-n", ns)).To(gomega.ContainSubstring("configmaps/in is protected from deletion by ResourceDeletionProtection " + ns + ". "))
	g.Expect(label(t, e, v1alpha1.MarkedLabel, "configmap", "out", "-n", ns)()).To(gomega.BeEmpty())
	done(t, e, "delete", "configmap", "out", "-n", ns, "--dry-run=server")

	done(t, e, "label", "configmap", "out", "-n", ns, "tier=live", "--overwrite")
	g.Eventually(protectedBy(t, e, "configmap", "out", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	refused(t, e, "delete", "configmap", "out", "-n", ns)
	done(t, e, "label", "configmap", "in", "-n", ns, "tier-")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "in", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "configmap", "in", "-n", ns)
}

func TestProtection_followsTheLabelsOfNamespaces(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	in, out := e.Namespace(t), e.Namespace(t)
	done(t, e, "label", "namespace", in, "env="+in)
	for _, ns := range []string{in, out} {
		configMap(t, e, ns, "x")
	}
	end := protect(t, e, in, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: x, namespaceSelector: {matchLabels: {env: `+in+`}}}]}]}`)
	defer end()

	g.Eventually(protectedBy(t, e, "configmap", "x", "-n", in), "180s", "50ms").Should(gomega.Equal(in))
	refused(t, e, "delete", "configmap", "x", "-n", in)
	done(t, e, "delete", "configmap", "x", "-n", out, "--dry-run=server")

	done(t, e, "label", "namespace", out, "env="+in)
	g.Eventually(protectedBy(t, e, "configmap", "x", "-n", out), "180s", "50ms").Should(gomega.Equal(in))
	refused(t, e, "delete", "configmap", "x", "-n", out)
	done(t, e, "label", "namespace", in, "env=other", "--overwrite")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "x", "-n", in), "180s", "50ms").Should(gomega.BeEmpty())
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "namespace", in), "180s", "50ms").Should(gomega.BeEmpty(), "nothing protected is in the namespace")
	done(t, e, "delete", "configmap", "x", "-n", in)
}

func TestProtection_holdsForWhatIsMadeLater(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`}], resourceNames: [a, b]}]}`)
	defer end()

	for _, name := range []string{"a", "b", "other"} {
		configMap(t, e, ns, name)
	}
	for _, name := range []string{"a", "b"} {
		g.Eventually(protectedBy(t, e, "configmap", name, "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
		refused(t, e, "delete", "configmap", name, "-n", ns)
	}
	done(t, e, "delete", "configmap", "other", "-n", ns)
}

func TestProtection_followsItsOwnSpec(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	configMap(t, e, ns, "a")
	configMap(t, e, ns, "b")
	spec := `{message: MESSAGE, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: ` + ns + `, name: NAME}]}]}`
	write := func(name, message string) func() {
		return protect(t, e, ns, strings.NewReplacer("MESSAGE", message, "NAME", name).Replace(spec))
	}
	end := write("a", "one")
	defer end()
	g.Eventually(protectedBy(t, e, "configmap", "a", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	write("b", "one")
	g.Eventually(protectedBy(t, e, "configmap", "b", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "a", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "configmap", "a", "-n", ns)
	write("b", "two")
	g.Eventually(annotation(t, e, v1alpha1.ProtectedByMark, "configmap", "b", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns + " (two)"))
	g.Expect(refused(t, e, "delete", "configmap", "b", "-n", ns)).To(gomega.ContainSubstring(ns + " (two)"))
}

func TestProtection_severalOnOneObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	one, two := ns+"-1", ns+"-2"
	configMap(t, e, ns, "x")
	spec := `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: ` + ns + `, name: x}]}]}`
	endOne, endTwo := protect(t, e, one, spec), protect(t, e, two, spec)
	defer endTwo()
	defer endOne()

	g.Eventually(protectedBy(t, e, "configmap", "x", "-n", ns), "180s", "50ms").Should(gomega.Equal("2_protections"))
	g.Expect(refused(t, e, "delete", "configmap", "x", "-n", ns)).To(gomega.ContainSubstring("configmaps/x is protected from deletion by ResourceDeletionProtection " + one + ", " + two + ". "))
	endOne()
	g.Eventually(protectedBy(t, e, "configmap", "x", "-n", ns), "180s", "50ms").Should(gomega.Equal(two))
	g.Expect(refused(t, e, "delete", "configmap", "x", "-n", ns)).To(gomega.ContainSubstring("configmaps/x is protected from deletion by ResourceDeletionProtection " + two + ". "))
	endTwo()
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "x", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "configmap", "x", "-n", ns)
}

func TestProtection_saysWhyToWhoeverIsRefused(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	tests := []struct{ name, says, want string }{
		{name: "neither", want: ""},
		{name: "reason", says: `reason: "it is the customers' data", `, want: " (it is the customers' data)"},
		{name: "message", says: `reason: it is mine, message: "Ask the team \"storage\":\n  storage@example.com", `, want: ` (Ask the team "storage": storage@example.com)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := ns + "-" + tt.name
			configMap(t, e, ns, tt.name)
			end := protect(t, e, name, `{`+tt.says+`protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`, name: `+tt.name+`}]}]}`)
			defer end()
			g := gomega.NewWithT(t)
			g.Eventually(protectedBy(t, e, "configmap", tt.name, "-n", ns), "180s", "50ms").Should(gomega.Equal(name))
			want := "denied request: configmaps/" + tt.name + " is protected from deletion by ResourceDeletionProtection " + name + tt.want +
				". To let this one object go for a while: kubectl holdfast override ask configmaps/" + tt.name + " -n " + ns + " --reason WHY\n"
			g.Expect(refused(t, e, "delete", "configmap", tt.name, "-n", ns)).To(gomega.HaveSuffix(want))
		})
	}
}

func TestProtection_whileAWorkloadIsUsed(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, deployment("web", "1"))
	spec := `{mode: MODE, protectedResources: [{resourceSelector: [{apiVersion: apps/v1, kind: Deployment, namespace: ` + ns + `}]}]}`
	endCascading := protect(t, e, ns, strings.Replace(spec, "MODE", "Cascading", 1))
	defer endCascading()

	g.Eventually(label(t, e, v1alpha1.ProtectedWhileUsedByMark, "deployment", "web", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Expect(refused(t, e, "delete", "deployment", "web", "-n", ns)).To(gomega.ContainSubstring("deployments.apps/web is protected from deletion while it is in use by ResourceDeletionProtection " + ns + ". "))
	done(t, e, "scale", "deployment", "web", "-n", ns, "--replicas=0")
	done(t, e, "delete", "deployment", "web", "-n", ns, "--dry-run=server")

	// One that protects always beside it.
	end := protect(t, e, ns+"-2", strings.Replace(spec, "MODE", "Always", 1))
	defer end()
	g.Eventually(protectedBy(t, e, "deployment", "web", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns + "-2"))
	g.Expect(label(t, e, v1alpha1.ProtectedWhileUsedByMark, "deployment", "web", "-n", ns)()).To(gomega.Equal(ns))
	g.Expect(refused(t, e, "delete", "deployment", "web", "-n", ns)).To(gomega.ContainSubstring("is protected from deletion by ResourceDeletionProtection " + ns + "-2"))
	end()
	g.Eventually(protectedBy(t, e, "deployment", "web", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "deployment", "web", "-n", ns)
}
