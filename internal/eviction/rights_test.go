// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// guardUser is who the guard is to the API server.
const guardUser = testkit.GuardUser

// forbidden are the requests of the guard that the API server has refused, as its
// audit log has them.
func forbidden(t testing.TB, log *auditlog.Log) []string {
	t.Helper()
	events, err := log.Events()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		what := e.Verb + " " + e.RequestURI
		if e.ResponseStatus.Code == http.StatusForbidden && e.User.Username == guardUser && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	return out
}

// audited is an API server that logs the answer to each request of a service
// account.
func audited(t testing.TB) (cluster.Options, *auditlog.Log) {
	t.Helper()
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{Level: auditv1.LevelMetadata, UserGroups: []string{"system:serviceaccounts"}})
	if err != nil {
		t.Fatal(err)
	}
	return options, log
}

// withListedRights is an Env whose guard has rights to the pods of a list of
// namespaces alone; another namespace, app, is not in it.
func withListedRights(t testing.TB, o testkit.Options) *testkit.Env {
	t.Helper()
	o.NoManager, o.ManagerEnv = true, []string{"STRIMZI_DRAIN_NAMESPACES=kafka-prod,kafka-dev"}
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
	options, log := audited(t)
	e := withListedRights(t, testkit.Options{Cluster: options})
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
	g.Eventually(func() string { return e.Kubectl(t, "get", "evp", "db", "-o", "jsonpath={.status.waiting}").Stdout }, "180s", "200ms").Should(gomega.Equal("1"))
	g.Eventually(func() string { return e.Kubectl(t, "get", "events", "-n", "kafka-dev").Stdout }, "180s", "200ms").Should(gomega.ContainSubstring("Asked"))
	free := pod(t, e, "app", "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	if err := evict(t, e, "app", free.Name, nil); err != nil {
		t.Errorf("an eviction out of scope: %v", err)
	}
	configure(t, e, "deletion: {mode: 'Off'}\neviction: {pods: Cached}")
	inForce(t, e, "pods: Cached")
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`).Stdout
	}, "180s", "200ms").Should(gomega.Equal("Holdfast works as configured"))
	if got := forbidden(t, log); len(got) > 0 {
		t.Errorf("requests that the API server refused:\n%s", strings.Join(got, "\n"))
	}
}

// configure replaces the configuration.
func configure(t testing.TB, e *testkit.Env, text string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: "holdfast"}}
	cm.Data = map[string]string{"config.yaml": "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n" + text + "\n"}
	if err := e.Client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
}
