// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func (c *configured) scopeIsReported(t *testing.T) {
	e, g, ns := c.Env, gomega.NewWithT(t), c.afresh(t)
	for _, name := range []string{"a-kafka-0", "a-kafka-1", "a-kafka-2"} {
		pod(t, e, ns, name, kafka("a-kafka"))
	}
	calls := func() float64 { return e.Metric(t, "holdfast_eviction_reviews_total") }
	filtered := func() float64 { return e.Metric(t, "holdfast_eviction_namespace_filtered_total") }
	called, left := calls(), filtered()

	configure(t, e, "eviction: {scope: {namespaces: ['kafka-*', '!kafka-x', no-such]}}")
	inForce(t, e, "kafka-x")
	if err := evict(t, e, ns, "a-kafka-0", nil); err != nil {
		t.Errorf("a namespace that no pattern has: %v", err)
	}
	if calls() != called || filtered() != left+1 {
		t.Errorf("%v reviews, %v filtered; want the handler to let it go", calls()-called, filtered()-left)
	}
	// The same in the API server: the eviction never leaves it.
	configure(t, e, "eviction: {filter: Selector, scope: {namespaces: ['kafka-*', '!kafka-x']}}")
	g.Eventually(func() string { return matchExpressions(t, e) }, "180s", "100ms").Should(gomega.ContainSubstring("kafka-"))
	g.Eventually(func() float64 { // until the API server has it
		before := filtered()
		if err := evict(t, e, ns, "a-kafka-1", dryRun); err != nil {
			t.Errorf("a namespace that the selector leaves out: %v", err)
		}
		return filtered() - before
	}, "180s", "100ms").Should(gomega.BeZero())

	configure(t, e, "eviction: {scope: {namespaces: [no-such, "+ns+"]}}")
	g.Eventually(condition(t, e, "EvictionScopeServed"), "180s", "200ms").
		Should(gomega.Equal("NamespaceMissing the scope lists namespaces that do not exist: no-such; is one misspelt?"))
	if err := evict(t, e, ns, "a-kafka-2", nil); err == nil || !strings.Contains(err.Error(), "will be rolled") {
		t.Errorf("a namespace of the list, beside one that is missing: %v", err)
	}
	if err := e.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "no-such"}}); err != nil {
		t.Fatal(err)
	}
	configure(t, e, "eviction: {scope: {namespaces: ["+ns+", no-such]}}") // sooner than the next look
	g.Eventually(condition(t, e, "EvictionScopeServed"), "180s", "200ms").Should(gomega.HavePrefix("Served"))
	configure(t, e, "eviction: {mode: 'Off'}")
	g.Eventually(condition(t, e, "EvictionScopeServed"), "180s", "200ms").Should(gomega.Equal("none"))
}

func (c *configured) secondGuardIsReported(t *testing.T) {
	c.afresh(t)
	e, g := c.Env, gomega.NewWithT(t)
	g.Eventually(condition(t, e, "EvictionGuardAlone"), "180s", "200ms").Should(gomega.HavePrefix("Alone"))
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: strimzi-drain-cleaner},
		webhooks: [{name: strimzi-drain-cleaner.strimzi.io, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, timeoutSeconds: 5,
			clientConfig: {service: {namespace: strimzi-drain-cleaner, name: strimzi-drain-cleaner, path: /drainer, port: 443}},
			rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction], scope: Namespaced}]}]}`)
	defer e.Kubectl(t, "delete", "validatingwebhookconfiguration", "strimzi-drain-cleaner")
	configure(t, e, "eviction: {requestTimeout: 3s}") // sooner than the next look
	g.Eventually(condition(t, e, "EvictionGuardAlone"), "180s", "200ms").
		Should(gomega.HavePrefix("SecondGuard there should be one in a cluster, and evictions are also sent to strimzi-drain-cleaner"))
	g.Eventually(condition(t, e, "Ready"), "180s", "200ms").Should(gomega.HavePrefix("SecondGuard "))
	configure(t, e, "eviction: {drainCleaner: {enabled: false}}")
	g.Eventually(condition(t, e, "EvictionGuardAlone"), "180s", "200ms").Should(gomega.HavePrefix("Alone"))
}

// Neither without the deletion guard's consent nor for ever.
func (c *configured) protectedPods(t *testing.T) {
	e, ns := c.Env, c.afresh(t)
	for _, name := range []string{"first", "second"} {
		pod(t, e, ns, name, map[string]string{"holdfast.dev/deletion-protected": "Always"})
	}
	if err := evict(t, e, ns, "first", nil); err != nil {
		t.Errorf("by default an eviction goes past the deletion guard: %v", err)
	}
	configure(t, e, "eviction: {protectedPods: Refuse, drainCleaner: {enabled: false}}")
	g := gomega.NewWithT(t)
	g.Eventually(func() error { return evict(t, e, ns, "second", dryRun) }, "180s", "200ms").
		Should(gomega.MatchError(gomega.ContainSubstring("eviction.holdfast.dev"))) // the API server learns the name after the guard
	err := evict(t, e, ns, "second", nil)
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), `admission webhook "eviction.holdfast.dev" denied the request: The pod is protected from deletion: `) ||
		!strings.Contains(err.Error(), "holdfast.dev/deletion-protected") {
		t.Errorf("got %v, want a 429 that names the label", err)
	}
}

func (c *configured) cachedPods(t *testing.T) {
	e, g, ns := c.Env, gomega.NewWithT(t), c.afresh(t)
	configure(t, e, "eviction: {pods: Cached}")
	inForce(t, e, "pods: Cached")
	held := pod(t, e, ns, "a-kafka-0", kafka("a-kafka"))
	other := pod(t, e, ns, "other", nil)
	gets := func() float64 {
		return e.Metric(t, "rest_client_requests_total", testkit.Label("method", "GET"))
	}
	patches := func() float64 {
		return e.Metric(t, "holdfast_eviction_pod_patches_total")
	}
	written := patches()
	// The watch has seen the pods once an eviction costs no question.
	g.Eventually(func() float64 {
		before := gets()
		if err := evict(t, e, ns, held.Name, dryRun); err == nil {
			t.Error("a dry run passes")
		}
		return gets() - before
	}, "180s", "500ms").Should(gomega.BeZero())
	g.Eventually(func() float64 { // the status looks around now and then
		before := gets()
		if err := evict(t, e, ns, held.Name, nil); err == nil {
			t.Error("a Kafka pod goes")
		}
		if err := evict(t, e, ns, other.Name, dryRun); err != nil {
			t.Errorf("a pod that nothing matches: %v", err)
		}
		return gets() - before
	}, "180s", "500ms").Should(gomega.BeZero())
	g.Eventually(func() float64 { // what is written is seen, and not written again
		before := patches()
		_ = evict(t, e, ns, held.Name, nil)
		return patches() - before
	}, "180s", "100ms").Should(gomega.BeZero())
	if patches() == written {
		t.Error("nothing was written")
	}
}
