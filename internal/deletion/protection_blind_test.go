// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A kind that was watched can become one that nobody can read: here its conversion
// webhook goes.
func TestProtection_ofAKindThatCannotBeWatchedAnyMore(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.com"
	conversion := func(how string) {
		t.Helper()
		e.Apply(t, "", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.`+group+`}, spec: {
			group: `+group+`, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, conversion: {`+how+`}, versions: [
			{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}},
			{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	}
	const none = "strategy: None"
	conversion(none)
	defer takeAway(t, e, "crd", "widgets."+group)
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets."+group, "--timeout=30s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: w}}`)
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: `+group+`/v1, kind: Widget, namespace: `+ns+`}]}]}`)
	defer end()
	status := statusOf(t, e, ns, readyOf+` {.status.unenforceable[*].reason} {.status.unenforceable[*].message}`)
	g.Eventually(status, "180s", "100ms").Should(gomega.Equal("True Protected  "))

	conversion(`strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/none"}}`)
	g.Eventually(status, "150s", "500ms").Should(gomega.HavePrefix("False Unenforceable NotMarked objects of this kind cannot be watched: "))
	conversion(none)
	g.Eventually(status, "180s", "200ms").Should(gomega.Equal("True Protected  "))
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: later}}`)
	g.Eventually(protectedBy(t, e, "widget."+group, "later", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
}
