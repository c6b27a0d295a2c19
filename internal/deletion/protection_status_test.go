// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// widgets is a small kind of its own, of a group.
func widgets(group string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.` + group + `}, spec: {
		group: ` + group + `, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
}

// applyWidgets makes that kind, and waits until the API server serves it.
func applyWidgets(t testing.TB, e *testkit.Env, group string) {
	t.Helper()
	e.Apply(t, "", widgets(group))
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets."+group, "--timeout=30s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

const readyOf = `{.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason}`

func TestProtection_ofAKindThatComesLater(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.com"
	defer takeAway(t, e, "crd", "widgets."+group)
	// Only the group counts, so any version will do.
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: `+group+`/v1beta1, kind: Widget, namespace: `+ns+`}]}]}`)
	defer end()

	g.Eventually(statusOf(t, e, ns, `{.status.unenforceable[*].reason} `+readyOf), "180s", "50ms").Should(gomega.Equal("NoSuchKind False Unenforceable"))
	applyWidgets(t, e, group)
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: w}}`)
	g.Eventually(protectedBy(t, e, "widget."+group, "w", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Expect(refused(t, e, "delete", "widget."+group, "w", "-n", ns)).To(gomega.ContainSubstring("widgets." + group + "/w is protected from deletion by ResourceDeletionProtection " + ns))
	g.Eventually(statusOf(t, e, ns, `{.status.unenforceable} {.status.matches} `+readyOf), "180s", "50ms").Should(
		gomega.Equal(` {"kinds":[{"count":1,"group":"` + group + `","kind":"Widget"}],"total":1} True Protected`))
	g.Eventually(func() string { return refused(t, e, "delete", "crd", "widgets."+group) }, "180s", "100ms").Should(
		gomega.ContainSubstring("1 protected object: " + ns + "/widgets." + group + "/w"))

	end()
	g.Eventually(protectedBy(t, e, "widget."+group, "w", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "widget."+group, "w", "-n", ns)
}

func TestProtection_ofAKindThatIsThereAndGoes(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.com"
	defer takeAway(t, e, "crd", "widgets."+group)
	applyWidgets(t, e, group)
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: w, labels: {tier: prod}}}`)
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: loose}}`)
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: `+group+`/v1, kind: Widget, labelSelector: {matchLabels: {tier: prod}}}]}]}`)
	defer end()

	g.Eventually(protectedBy(t, e, "widget."+group, "w", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	refused(t, e, "delete", "widget."+group, "w", "-n", ns)
	done(t, e, "delete", "widget."+group, "loose", "-n", ns)
	done(t, e, "label", "widget."+group, "w", "-n", ns, "tier-")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "crd", "widgets."+group), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "crd", "widgets."+group)
	g.Eventually(statusOf(t, e, ns, `{.status.matches.kinds} {.status.unenforceable[*].reason} `+readyOf), "180s", "50ms").Should(gomega.Equal(" NoSuchKind False Unenforceable"))
}

func TestProtection_statusSaysWhatIsNotProtected(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	for _, name := range []string{"a", "b"} {
		configMap(t, e, ns, name, "tier=prod")
	}
	e.Apply(t, ns, `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	const enforceable = `{apiVersion: v1, kind: ConfigMap, namespace: NS, labelSelector: {matchLabels: {tier: prod}}}, {apiVersion: v1, kind: Secret, namespace: NS, name: s}`
	write := func(selectors string) func() {
		return protect(t, e, ns, `{protectedResources: [{resourceSelector: [`+selectors+`]}]}`)
	}
	endWritten := write(replaceNS(enforceable, ns) + `,
		{apiVersion: example.com/v1, kind: Nothing, name: "*"},
		{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, name: x},
		{apiVersion: authentication.k8s.io/v1, kind: TokenReview, name: x}`)
	defer endWritten()

	g.Eventually(statusOf(t, e, ns, `{range .status.unenforceable[*]}{.group}/{.kind} {.reason}: {.message}{"\n"}{end}`), "180s", "50ms").Should(gomega.Equal(
		"admissionregistration.k8s.io/ValidatingAdmissionPolicy BeyondAdmission: the API server asks no policy about objects of this kind; guard them by RBAC\n" +
			"authentication.k8s.io/TokenReview NotDeletable: an object of this kind cannot be listed, watched, patched and deleted\n" +
			"example.com/Nothing NoSuchKind: the API server does not serve this kind; what is selected of it is protected from when it does\n"))
	g.Eventually(statusOf(t, e, ns, readyOf+` {.status.conditions[?(@.type=="Ready")].message}`), "180s", "50ms").Should(gomega.Equal(
		"False Unenforceable not protected: ValidatingAdmissionPolicy.admissionregistration.k8s.io (BeyondAdmission), TokenReview.authentication.k8s.io (NotDeletable), Nothing.example.com (NoSuchKind)"))
	// What can be protected is protected all the same.
	g.Eventually(protectedBy(t, e, "secret", "s", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))

	write(replaceNS(enforceable, ns))
	g.Eventually(statusOf(t, e, ns, `{.status.observedGeneration}{.status.unenforceable} {.status.matches} `+readyOf), "180s", "50ms").Should(
		gomega.Equal(`2 {"kinds":[{"count":2,"kind":"ConfigMap"},{"count":1,"kind":"Secret"}],"total":3} True Protected`))
	out := e.Kubectl(t, "get", "rdp", ns, "--no-headers")
	g.Expect(out.Stdout).To(gomega.MatchRegexp(`^` + ns + ` +Always +3 +True `))
}

func TestProtection_nothingIsWrittenWhenNothingChanges(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	configMap(t, e, ns, "x")
	end := protect(t, e, ns, `{reason: why, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`, name: x}]}]}`)
	defer end()
	g.Eventually(statusOf(t, e, ns, `{.status.matches.total} `+readyOf), "180s", "50ms").Should(gomega.Equal("1 True Protected"))
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "namespace", ns), "180s", "50ms").Should(gomega.Equal("true"))

	versions := func() string {
		var all string
		for _, args := range [][]string{{"rdp", ns}, {"configmap", "x", "-n", ns}, {"namespace", ns}} {
			all += read(t, e, version+" ", args...)()
		}
		return all
	}
	g.Consistently(versions, "4s", "200ms").Should(gomega.Equal(versions()))
}

func replaceNS(text, ns string) string { return strings.ReplaceAll(text, "NS", ns) }

// To change a ClusterRole, even its labels, the API server wants that Holdfast
// holds all the rights in it.
func TestProtection_ofWhatHoldfastMayNotMark(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Rules:      []rbacv1.PolicyRule{testkit.Rule("apps", []string{"deployments"}, "create")},
	}
	if err := e.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	defer func() { done(t, e, "delete", "clusterrole", ns) }()
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: `+ns+`}]}]}`)
	defer end()
	g.Eventually(statusOf(t, e, ns, `{.status.unenforceable[*].reason} {.status.unenforceable[*].message}`), "180s", "100ms").
		Should(gomega.And(gomega.HavePrefix("NotMarked "), gomega.ContainSubstring("attempting to grant RBAC permissions not currently held")))
}
