// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
	"github.com/holdfast-dev/holdfast/internal/testkit/service"
)

// replicated is an Env with two replicas behind one address.
func replicated(t testing.TB) (e *testkit.Env, first, second *manager.Process) {
	t.Helper()
	e = testkit.New(t, testkit.Options{NoManager: true})
	s := service.New(t)
	for _, p := range []**manager.Process{&first, &second} {
		*p = e.StartManager(t, "--webhook-url", s.URL())
		s.Add(*p)
	}
	e.Manager = first
	return e, first, second
}

// A drain goes on while replicas come and go, and nothing is rolled twice.
func TestOutage_oneOfTwoReplicasGoesDuringADrain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tests := []struct {
		name string
		end  func(*manager.Process) error
	}{
		{name: "because it is drained itself", end: (*manager.Process).Stop},
		{name: "because it crashes", end: (*manager.Process).Kill},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, first, _ := replicated(t)
			n := nodes.Start(t, e)
			ns := e.Namespace(t)
			n.Add(t, "old", "new")
			strimziPolicy(t, e, ns)
			pods := brokers(t, n, ns, "old", 3)
			roller := n.Roller(t, nodes.RollerOptions{Namespaces: []string{ns}, Delay: 500 * time.Millisecond})
			g := gomega.NewWithT(t)
			g.Eventually(func() error { return evict(t, e, ns, pods[0].Name, dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsNotFound))
			drain := n.StartDrain(t, "old", "--timeout=180s")
			g.Eventually(roller.Rolls, "180s", "50ms").ShouldNot(gomega.BeEmpty())
			if err := tt.end(first); err != nil {
				t.Fatal(err)
			}
			if out := drain.Wait(t); out.Code != 0 {
				t.Errorf("the drain ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
			}
			onceEach(t, roller, pods)
		})
	}
}

// What becomes of an eviction while the API server does not let the guard write to the pod, and while there is
// no guard: as upstream, and then as the configuration says.
func TestOutage_nobodyAnswersOrThePodCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns, unwritable := e.Namespace(t), e.Namespace(t)
	for _, name := range []string{"a-kafka-0", "a-kafka-1"} {
		pod(t, e, ns, name, kafka("a-kafka"))
		pod(t, e, unwritable, name, kafka("a-kafka"))
	}
	refuseWrites(t, e, unwritable)

	t.Log("by default, while pods cannot be written to")
	policiesThatCannotAct(t, e, unwritable)
	if err := evict(t, e, unwritable, "a-kafka-0", nil); err != nil {
		t.Errorf("the Drain Cleaner's rules let an eviction pass that they cannot act on: %v", err)
	}

	t.Log("by default, while nobody answers")
	g.Expect(evict(t, e, ns, "a-kafka-0", dryRun)).To(gomega.MatchError(gomega.ContainSubstring("will be rolled")))
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := evict(t, e, ns, "a-kafka-0", nil); err != nil {
		t.Errorf("by default an eviction passes, as upstream: %v", err)
	}

	t.Log("where the configuration refuses, while pods cannot be written to")
	if out := e.Kubectl(t, "delete", "lease", "-n", "holdfast-system", "holdfast-guard"); out.Code != 0 { // that of the dead one
		t.Fatal(out.Stderr)
	}
	e.Manager = e.StartManager(t)
	configure(t, e, "eviction: {onOutage: Refuse}")
	inForce(t, e, "onOutage: Refuse\n  pods")
	failsClosed(t, e)
	if err := evict(t, e, unwritable, "a-kafka-1", nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("with onOutage Refuse: %v, want a 429", err)
	}

	t.Log("where the configuration refuses, while nobody answers")
	if err := e.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	unanswered := gomega.MatchError(gomega.ContainSubstring(`failed calling webhook "strimzi-drain-cleaner.strimzi.io"`))
	g.Eventually(func() error { return evict(t, e, ns, "a-kafka-1", dryRun) }, "180s", "100ms").Should(unanswered)
	g.Expect(evict(t, e, ns, "a-kafka-1", nil)).To(unanswered)
	e.Manager = e.StartManager(t)
	g.Eventually(func() error { return evict(t, e, ns, "a-kafka-1", nil) }, "180s", "100ms").
		Should(gomega.MatchError(gomega.ContainSubstring("will be rolled")))
}

// refuseWrites has the API server refuse what the guard writes to the pods of a namespace.
func refuseWrites(t testing.TB, e *testkit.Env, namespace string) {
	t.Helper()
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: no-writes}, spec: {
		matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+namespace+`}},
			resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [UPDATE]}]},
		matchConditions: [{name: guard, expression: "request.userInfo.username.endsWith(':holdfast-guard')"}],
		validations: [{expression: "false", message: not now, reason: Forbidden}]}}`)
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: no-writes}, spec: {
		policyName: no-writes, validationActions: [Deny]}}`)
	gomega.NewWithT(t).Eventually(func() string {
		return e.Kubectl(t, "label", "pod", "-n", namespace, "a-kafka-0", "x=y", "--dry-run=server", "--as="+guardUser).Stderr
	}, "180s", "200ms").Should(gomega.ContainSubstring("not now"))
}

// policiesThatCannotAct each say themselves what becomes of an eviction then.
func policiesThatCannotAct(t testing.TB, e *testkit.Env, namespace string) {
	t.Helper()
	for _, p := range []string{"Allow", "Refuse"} {
		e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+strings.ToLower(p)+`}, spec: {onError: `+p+`,
			match: {podSelector: {matchLabels: {policy: `+p+`}}}, action: {labels: {move: please}}, verdict: {type: Deny, message: wait}}}`)
		pod(t, e, namespace, "policy-"+strings.ToLower(p), map[string]string{"policy": p})
	}
	g := gomega.NewWithT(t)
	g.Eventually(func() error { return evict(t, e, namespace, "policy-refuse", dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	if err := evict(t, e, namespace, "policy-refuse", nil); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("a policy with onError Refuse: %v, want a 429 that says why", err)
	}
	g.Eventually(func() string {
		if last := policyStatus(t, e, "refuse").LastError; last != nil {
			return last.Message
		}
		return ""
	}, "180s", "200ms").Should(gomega.ContainSubstring("not now"))
	if err := evict(t, e, namespace, "policy-allow", nil); err != nil {
		t.Errorf("a policy with onError Allow: %v", err)
	}
}

// A manager that hangs is, for the API server, one that does not answer.
func TestOutage_theManagerHangs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	ns := e.Namespace(t)
	for _, name := range []string{"a-kafka-0", "a-kafka-1"} {
		pod(t, e, ns, name, kafka("a-kafka"))
	}
	if err := evict(t, e, ns, "a-kafka-0", dryRun); err == nil {
		t.Fatal("nothing is guarded")
	}
	stop(t, e.Manager)
	if err := evict(t, e, ns, "a-kafka-0", nil); err != nil {
		t.Errorf("after the webhook's time is up an eviction passes, as upstream: %v", err)
	}
	resume(t, e.Manager)
	configure(t, e, "eviction: {onOutage: Refuse}")
	inForce(t, e, "onOutage: Refuse\n  pods")
	failsClosed(t, e)
	stop(t, e.Manager)
	gomega.NewWithT(t).Eventually(func() error { return evict(t, e, ns, "a-kafka-1", dryRun) }, "180s", "100ms").
		Should(gomega.MatchError(gomega.ContainSubstring("failed calling webhook")))
	if err := evict(t, e, ns, "a-kafka-1", nil); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("where the configuration refuses: %v", err)
	}
	resume(t, e.Manager)
}

func stop(t testing.TB, p *manager.Process)   { signal(t, p, syscall.SIGSTOP) }
func resume(t testing.TB, p *manager.Process) { signal(t, p, syscall.SIGCONT) }

func signal(t testing.TB, p *manager.Process, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.PID(), s); err != nil {
		t.Fatal(err)
	}
}
