// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// own is a cluster of the test's own with the kinds of Strimzi, in which no manager
// runs yet.
func own(t *testing.T) *rig {
	t.Helper()
	e := testkit.New(t, testkit.Options{NoManager: true})
	r := rigIn(t, e)
	for _, path := range []string{"internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml"} {
		if _, err := manager.Kubectl(t.Context(), e.Cluster, "apply", "--server-side", "-f", path); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// runs has a manager run with a configuration, in place of the one that ran.
func (r *rig) runs(t *testing.T, serviceAccounts string, args ...string) {
	t.Helper()
	if r.Manager != nil {
		if err := r.Manager.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nserviceAccounts: " + serviceAccounts + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Manager = r.StartManager(t, append([]string{"--config", file, "--config-map", "", "--leader-elect=false"}, args...)...)
}

func connect(name, annotations string) string {
	return "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: " + name + "}\n" +
		"spec: {replicas: 1, template: {serviceAccount: {metadata: {annotations: {" + annotations + "}}}}}\n"
}

// accountWrites are those of the manager that runs, to accounts.
func (r *rig) accountWrites() float64 {
	return r.Metric(r.t, "holdfast_serviceaccount_writes_total")
}

// writtenByFence waits until the write of a fence is counted, which is a moment after it can be seen, and returns
// all writes to accounts.
func (r *rig) writtenByFence() float64 {
	r.t.Helper()
	r.Eventually(r.accountWrites).WithTimeout(patience).WithPolling(often).Should(gomega.BeNumerically(">", 0))
	return r.accountWrites()
}

// TestGate goes through the phases of seed 003: by the releases that they come with,
// and by turning the gate off and on.
func TestGate_inItsPhases(t *testing.T) {
	t.Parallel()
	r := own(t)
	const keep = "{mode: Enforce}"
	byHand := r.makeAccount("hand-connect", map[string]string{"team": "shop"}, map[string]string{"mine": "too"})
	r.apply(connect("hand", "a: one"))

	r.runs(t, keep) // alpha: the template is used when an account is made
	r.apply(connect("new", "a: one"))
	r.becomes("new-connect", "@a=one")
	r.apply(connect("new", "a: two"))
	r.fence("alpha")
	for name, want := range map[string]string{"new-connect": "@a=one", "hand-connect": "team=shop @mine=too"} {
		if got := r.custom(name); got != want {
			t.Errorf("alpha, %s: got %q, want %q", name, got, want)
		}
	}

	r.runs(t, keep, "--feature-gates=+ServiceAccountPatching")
	r.becomes("new-connect", "@a=two")
	r.becomes("hand-connect", "team=shop @a=one @mine=too")

	r.runs(t, keep, "--feature-gates=-ServiceAccountPatching")
	r.apply(connect("hand", "a: two"))
	r.fence("off")
	if got := r.custom("hand-connect"); got != "team=shop @a=one @mine=too" {
		t.Errorf("turned off again: got %q, want it as it was", got)
	}
	if n := r.writtenByFence(); n != 1 {
		t.Errorf("turned off again: %v accounts written, want 1", n)
	}

	r.runs(t, keep, "--emulated-version=0.4") // beta: on
	after := r.becomes("hand-connect", "team=shop @a=two @mine=too")
	if after.UID != byHand.UID {
		t.Error("the account was made anew")
	}
	r.runs(t, keep, "--emulated-version=0.7", "--feature-gates=-ServiceAccountPatching") // GA: a setting that is left over does not count
	r.apply(connect("hand", "a: three"))
	r.becomes("hand-connect", "team=shop @a=three @mine=too")
}

// TestReport says what would be done, and does nothing.
func TestReport_changesNothing(t *testing.T) {
	t.Parallel()
	r := own(t)
	before := r.makeAccount("shop-connect", nil, map[string]string{"mine": "too"})
	r.apply(connect("shop", "note: x"))
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: missing}\nspec: {replicas: 1}\n")
	r.runs(t, "{mode: Report}")
	r.saidOf("KafkaConnect", "shop", ReasonPending, `the account shop-connect would be written: added label app.kubernetes.io/instance "shop"`)
	r.saidOf("KafkaBridge", "missing", ReasonPending, "it is made")
	r.Eventually(func() float64 {
		return r.Metric(t, "holdfast_serviceaccount_pending_changes", testkit.Label("change", "added"))
	}).WithTimeout(patience).WithPolling(often).Should(gomega.BeNumerically("==", 17), "nine keys of shop, eight of missing")
	same(t, before, r.account("shop-connect"))
	if r.account("missing-bridge") != nil || r.accountWrites() != 0 {
		t.Error("something was written")
	}
}

// TestOperator has Strimzi's operator run beside Holdfast, which yields to it.
func TestOperator_thatRunsBesideHoldfast(t *testing.T) {
	t.Parallel()
	r := own(t)
	operates := func(name string) {
		r.apply(`{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, labels: {strimzi.io/kind: cluster-operator}}, spec: {containers: [{name: a, image: a}]}}`)
	}
	gone := func(name string) {
		r.kubectl("delete", "pod", name, "-n", r.namespace, "--force", "--grace-period=0")
	}
	operates("first")
	r.apply(connect("shop", "a: ours, b: ours"))
	operator := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "shop-connect", Annotations: map[string]string{"a": "strimzis"}}}
	if err := r.Client.Create(t.Context(), operator, client.FieldOwner("strimzi-kafka-operator")); err != nil {
		t.Fatal(err)
	}
	r.runs(t, "{mode: Enforce}", "--feature-gates=+ServiceAccountPatching")
	r.becomes("shop-connect", "@a=strimzis @b=ours")
	r.Eventually(func() string { return r.kept().Reason }).WithTimeout(patience).WithPolling(often).Should(gomega.Equal(v1alpha1.ReasonSecondWriter))
	before := r.account("shop-connect")
	r.fence("beside")
	same(t, before, r.account("shop-connect"))

	// Its pod goes, as when a node is drained, and the next one comes.
	gone("first")
	operates("second")
	r.fence("drained")
	same(t, before, r.account("shop-connect"))

	// It has gone: what it has set is Holdfast's now.
	gone("second")
	r.becomes("shop-connect", "@a=ours @b=ours")
	r.Eventually(func() string { return r.kept().Reason }).WithTimeout(patience).WithPolling(often).Should(gomega.Equal(v1alpha1.ReasonAlone))
	r.apply(connect("shop", "c: ours"))
	r.becomes("shop-connect", "@c=ours")
}

// TestKilled has the manager killed again and again while it writes, takes over and
// deletes. In the end every account is as its object wants it, and a start finds
// nothing to write.
func TestKilled_betweenAnyTwoWrites(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := own(t)
	const n = 40
	uids := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		if i%2 == 0 { // what an operator has written before
			a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name + "-connect", Annotations: map[string]string{"old": "one", "a": "old"}}}
			if err := r.Client.Create(t.Context(), a, client.FieldOwner("strimzi-kafka-operator")); err != nil {
				t.Fatal(err)
			}
			uids[a.Name] = string(a.UID)
		}
	}
	start := func() {
		r.runs(t, "{mode: Enforce}", "--feature-gates=+ServiceAccountPatching")
	}
	start()
	for round := range 6 {
		var objects strings.Builder
		for i := range n {
			fmt.Fprintf(&objects, "---\n%s", connect(fmt.Sprintf("c%d", i), fmt.Sprintf("a: round-%d", round)))
		}
		r.apply(objects.String())
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // any moment will do
		_ = r.Manager.Kill()
		r.Manager = nil
		start()
	}
	for i := range n {
		name := fmt.Sprintf("c%d-connect", i)
		want := "@a=round-5"
		if i%2 == 0 {
			want += " @old=one"
		}
		a := r.becomes(name, want)
		if uid := uids[name]; uid != "" && uid != string(a.UID) {
			t.Errorf("%s was made anew", name)
		}
	}
	start()
	r.fence("after")
	if got := r.writtenByFence(); got != 1 {
		t.Errorf("a start with nothing to do wrote %v accounts, want only that of the fence", got)
	}
}
