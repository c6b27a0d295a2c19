// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// guardUser is who the guard is to the API server.
const guardUser = testkit.GuardUser

// forbidden is how many requests of the guard the API server has refused for want of a right, as the guard's
// clients count them.
func forbidden(t testing.TB, e *testkit.Env) float64 {
	t.Helper()
	if all := e.Metric(t, "rest_client_requests_total"); all == 0 {
		t.Fatal("the guard does not count its requests")
	}
	return e.Metric(t, "rest_client_requests_total", testkit.Label("code", strconv.Itoa(http.StatusForbidden)))
}

// withListedRights is an Env whose guard has rights to the pods of a list of
// namespaces alone; another namespace, app, is not in it.
func withListedRights(t testing.TB, o testkit.Options) *testkit.Env {
	t.Helper()
	o.NoManager, o.ManagerEnv = true, []string{"STRIMZI_DRAIN_NAMESPACES=kafka-prod,kafka-dev", "STRIMZI_DRAIN_ZOOKEEPER=enabled"}
	e := testkit.New(t, o)
	for _, ns := range []string{"kafka-prod", "kafka-dev", "app"} {
		if err := e.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			t.Fatal(err)
		}
	}
	configure(t, e, "deletion: {mode: 'Off'}")
	rbac, err := os.ReadFile("../../config/rbac/eviction-by-namespace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out := e.KubectlInput(t, string(rbac), "apply", "--server-side", "--force-conflicts", "-f", "-"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	e.Manager = e.StartManager(t)
	return e
}

func TestRights_ofAListOfNamespacesAreEnough(t *testing.T) {
	t.Parallel()
	e := withListedRights(t, testkit.Options{})
	g := gomega.NewWithT(t)
	guarded := pod(t, e, "kafka-prod", "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	g.Eventually(func() error { return evict(t, e, "kafka-prod", guarded.Name, dryRun) }, "180s", "200ms").ShouldNot(gomega.Succeed())
	if err := evict(t, e, "kafka-prod", guarded.Name, nil); apierrors.ReasonForError(err) != "" || err == nil {
		t.Errorf("got %v, want the refusal of the Drain Cleaner", err)
	}
	if got := annotations(t, e, "kafka-prod", guarded.Name)["strimzi.io/manual-rolling-update"]; got != "true" {
		t.Errorf("the pod is not annotated")
	}
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: db}, spec: {
		match: {podSelector: {matchLabels: {db: "yes"}}}, action: {event: {reason: Asked, message: somebody drains}},
		verdict: {type: Deny, message: wait}}}`)
	held := pod(t, e, "kafka-dev", "db-0", map[string]string{"db": "yes"})
	g.Eventually(func() error { return evict(t, e, "kafka-dev", held.Name, dryRun) }, "180s", "200ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	if err := evict(t, e, "kafka-dev", held.Name, nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a 429", err)
	}
	g.Eventually(condition(t, e, "ConfigurationAccepted"), "180s", "200ms").
		Should(gomega.HavePrefix("InvalidVariable in the environment of the manager: STRIMZI_DRAIN_ZOOKEEPER="))
	g.Eventually(waiting(t, e, "db"), "180s", "200ms").Should(gomega.BeEquivalentTo(1))
	g.Eventually(reasons(t, e, "kafka-dev"), "180s", "200ms").Should(gomega.ContainElement("Asked"))
	free := pod(t, e, "app", "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	if err := evict(t, e, "app", free.Name, nil); err != nil {
		t.Errorf("an eviction out of scope: %v", err)
	}
	configure(t, e, "deletion: {mode: 'Off'}\neviction: {pods: Cached}")
	inForce(t, e, "pods: Cached")
	// But for the variable nothing is wrong.
	g.Eventually(condition(t, e, v1alpha1.ConditionReady), "180s", "200ms").Should(gomega.And(
		gomega.HavePrefix("InvalidVariable ConfigurationAccepted: "), gomega.HaveSuffix(" false is in force: set it to one of them")))
	if got := forbidden(t, e); got > 0 {
		t.Errorf("the API server refused %v requests of the guard", got)
	}
}
