// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// configured is a cluster whose configuration changes.
type configured struct {
	*testkit.Env
	// installed is the configuration that Holdfast is installed with.
	installed string
}

// What the configuration says about evictions, one part after the other on one cluster.
func TestConfigured_whoeverEvictsSeesIt(t *testing.T) {
	t.Parallel()
	c := &configured{Env: testkit.New(t, testkit.Options{})}
	c.installed = status(t, c.Env).Configuration
	t.Run("each part changes what becomes of an eviction", c.eachPart)
	t.Run("the scope changes without a restart, and is reported", c.scopeIsReported)
	t.Run("a second guard is reported", c.secondGuardIsReported)
	t.Run("protected pods go past the deletion guard, or wait for it", c.protectedPods)
	t.Run("pods in the cache need no question", c.cachedPods)
}

// afresh puts the configuration back, waits until the API server goes by it, and returns a namespace.
func (c *configured) afresh(t testing.TB) string {
	t.Helper()
	configure(t, c.Env, "")
	g := gomega.NewWithT(t)
	g.Eventually(func() string { return status(t, c.Env).Configuration }, "180s", "100ms").Should(gomega.Equal(c.installed))
	ns := c.Namespace(t)
	p := pod(t, c.Env, ns, "probe-kafka-0", kafka("probe-kafka"))
	g.Eventually(func() error { return evict(t, c.Env, ns, p.Name, dryRun) }, "180s", "100ms").
		Should(gomega.MatchError(gomega.ContainSubstring(rolled.Message)))
	return ns
}

// The parts of the configuration that change what becomes of an eviction.
func (c *configured) eachPart(t *testing.T) {
	e, g := c.Env, gomega.NewWithT(t)
	kafkaDev, app := c.afresh(t), e.Namespace(t)
	p, q := pod(t, e, kafkaDev, "my-cluster-kafka-0", kafka("my-cluster-kafka")), pod(t, e, app, "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	filtered := func() float64 { return e.Metric(t, "holdfast_eviction_namespace_filtered_total") }
	passes := func() error { return evict(t, e, app, q.Name, dryRun) }
	wantStatus(t, passes(), rolled)

	t.Log("a namespace that is not in the watch list")
	configure(t, e, "eviction: {scope: {namespaces: ["+kafkaDev+"]}}")
	g.Eventually(passes, "180s", "100ms").Should(gomega.Succeed())
	wantStatus(t, evict(t, e, kafkaDev, p.Name, dryRun), rolled)
	if got := filtered(); got < 1 {
		t.Errorf("%v evictions were counted as out of scope, want some", got)
	}

	t.Log("the same, by the API server")
	configure(t, e, "eviction: {filter: Selector, scope: {namespaces: ["+kafkaDev+"]}}")
	g.Eventually(func() bool {
		before := filtered()
		if err := passes(); err != nil {
			t.Error(err)
		}
		return filtered() == before
	}, "180s", "100ms").Should(gomega.BeTrue())
	wantStatus(t, evict(t, e, kafkaDev, p.Name, dryRun), rolled)

	t.Log("the legacy mode, with a disruption budget, which counts for pods that run")
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := clientset(t, e).CoreV1().Pods(kafkaDev).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.Apply(t, kafkaDev, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: kafka}, spec: {maxUnavailable: 0, selector: {matchLabels: {strimzi.io/kind: Kafka}}}}`)
	g.Eventually(func() int64 {
		pdb, err := clientset(t, e).PolicyV1().PodDisruptionBudgets(kafkaDev).Get(t.Context(), "kafka", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pdb.Status.ObservedGeneration
	}, "180s", "100ms").Should(gomega.BeEquivalentTo(1))
	configure(t, e, "eviction: {drainCleaner: {denyEviction: false}}")
	g.Eventually(func() error { return evict(t, e, kafkaDev, p.Name, nil) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	g.Expect(annotations(t, e, kafkaDev, p.Name)).To(gomega.HaveKeyWithValue(rollAnnotation, "true"))

	t.Log("Kafka off")
	configure(t, e, "eviction: {drainCleaner: {kafka: false}}")
	g.Eventually(passes, "180s", "100ms").Should(gomega.Succeed())

	t.Log("a policy, and no rules of the Drain Cleaner: the name of the webhook is Holdfast's own")
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: stay}, spec: {match: {namespaces: [`+app+`], podSelector: {}}, verdict: {type: Deny, code: 403, message: stay}}}`)
	configure(t, e, "eviction: {drainCleaner: {enabled: false}}")
	var err error
	g.Eventually(func() bool {
		err = passes()
		return err != nil && strings.Contains(err.Error(), "eviction.holdfast.dev")
	}, "180s", "100ms").Should(gomega.BeTrue(), "%v", err)
	wantStatus(t, err, metav1.Status{
		Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "eviction.holdfast.dev" denied the request: EvictionPolicy stay: stay`,
	})

	t.Log("mode Warn refuses nothing and writes nothing")
	configure(t, e, "eviction: {mode: Warn}")
	g.Eventually(func() string {
		return e.Kubectl(t, "create", "--raw", "/api/v1/namespaces/"+app+"/pods/"+q.Name+"/eviction?dryRun=All", "-f", writeEviction(t, app, q.Name)).Stderr
	}, "180s", "200ms").Should(gomega.ContainSubstring("Warning: EvictionPolicy stay: stay"))
	if diff := cmp.Diff(map[string]string{"other": "kept"}, annotations(t, e, app, q.Name)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func writeEviction(t testing.TB, namespace, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "eviction.json")
	body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, name, namespace)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
