// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package responder_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// apply makes an EvictionPolicy for the pods with a label in the player's namespace,
// and waits until the webhook goes by it.
func (p player) apply(name, spec string) {
	p.t.Helper()
	p.e.Apply(p.t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+name+`}, spec: {
		match: {namespaces: [`+p.namespace+`], podSelector: {matchLabels: {db: `+name+`}}}, action: {annotations: {move: please}}, `+spec+`}}`)
	probe := p.pod("probe-"+name, map[string]string{"db": name})
	gomega.NewWithT(p.t).Eventually(func() error { return p.classic(probe.Name, metav1.DryRunAll) }, "180s", "200ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
}

// classic asks for an eviction by the subresource of pods.
func (p player) classic(pod string, dryRun ...string) error {
	return p.client.PolicyV1().Evictions(p.namespace).Evict(p.t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: pod}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
	})
}

func (p player) get(pod string) *corev1.Pod {
	p.t.Helper()
	out, err := p.client.CoreV1().Pods(p.namespace).Get(p.t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

const rolled = "The pod will be rolled by the Strimzi Cluster Operator"

var kafka = map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "my-cluster-kafka"}

// The gate is off, on, off and on again for some namespaces, one after the other on one cluster.
func TestResponder(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{Cluster: served})
	t.Run("with the gate off it touches nothing, and turns on live", func(t *testing.T) { turnsOnLive(t, e) })
	t.Run("with the gate on", func(t *testing.T) { responds(t, e) })
	t.Run("turned off it touches nothing, and with a scope only what is in it", func(t *testing.T) { turnsOffLive(t, e) })
}

// responds leaves the gate on.
func responds(t *testing.T, e *testkit.Env) {
	t.Run("a pod is held until its operator has deleted it", func(t *testing.T) {
		t.Parallel()
		g, p := gomega.NewWithT(t), newPlayer(t, e)
		p.apply("deny", `verdict: {type: Deny, message: the operator moves it}, deadline: {after: 1h}`)
		pod := p.pod("db-0", map[string]string{"db": "deny"})
		before := time.Now()
		p.evict(pod)
		g.Eventually(func() string { m, _ := p.message(pod.Name); return m }, "180s", "200ms").Should(gomega.Equal("EvictionPolicy deny: the operator moves it"))
		r := p.reported(pod.Name)
		if r.HeartbeatTime == nil || r.CompletionTime != nil {
			t.Errorf("got %+v, want a heartbeat and no completion", r)
		}
		if due := r.ExpectedCompletionTime; due == nil || due.Time.Before(before.Add(time.Hour-time.Second)) || due.After(time.Now().Add(time.Hour)) {
			t.Errorf("the end is expected at %v, want the policy's deadline", due)
		}
		if got := p.get(pod.Name); got.Annotations["move"] != "please" || got.Labels[v1alpha1.EvictingLabel] != "deny" {
			t.Errorf("the operator has not been asked: %v, %v", got.Annotations, got.Labels)
		}
		g.Eventually(func() bool {
			evp := &v1alpha1.EvictionPolicy{}
			if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "deny"}, evp); err != nil {
				t.Fatal(err)
			}
			return evp.Status.Waiting > 0 && evp.Status.Matched > 0
		}, "180s", "200ms").Should(gomega.BeTrue())

		if err := p.client.CoreV1().Pods(p.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		g.Eventually(func() bool { _, completed := p.message(pod.Name); return completed }, "180s", "200ms").Should(gomega.BeTrue())
		r = p.reported(pod.Name)
		if diff := cmp.Diff("The pod is gone", *r.Message); diff != "" || r.ExpectedCompletionTime != nil {
			t.Errorf("got %+v (-want +got)\n%s", r, diff)
		}
		p.update(pod.Name, func(s *lifecyclev1alpha1.EvictionStatus) { // as the controller has it
			s.TargetResponders[0].State = lifecyclev1alpha1.ResponderStateCompleted
			for kind, status := range map[string]metav1.ConditionStatus{"TargetEvicted": metav1.ConditionTrue, "Failed": metav1.ConditionFalse} {
				s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "PodDeleted", LastTransitionTime: metav1.Now()})
			}
		})
	})

	t.Run("a pod that a policy releases is left to the next responder", func(t *testing.T) {
		t.Parallel()
		g, p := gomega.NewWithT(t), newPlayer(t, e)
		p.apply("until", `verdict: {type: DenyUntil, until: "pod.metadata.annotations[?'moved'].orValue('') == 'yes'", message: the primary is moved first}`)
		pod := p.pod("db-0", map[string]string{"db": "until"})
		p.evict(pod)
		g.Eventually(func() string { m, _ := p.message(pod.Name); return m }, "180s", "200ms").Should(gomega.Equal("EvictionPolicy until: the primary is moved first"))
		e.Kubectl(t, "annotate", "pod", "-n", p.namespace, pod.Name, "moved=yes")
		g.Eventually(func() bool { _, completed := p.message(pod.Name); return completed }, "180s", "200ms").Should(gomega.BeTrue())
		m, _ := p.message(pod.Name)
		if diff := cmp.Diff("EvictionPolicy until lets the eviction pass", m); diff != "" {
			t.Error(diff)
		}
		p.next(pod.Name)
		if err := p.classic(pod.Name); err != nil {
			t.Errorf("the eviction that the last responder asks for: %v", err)
		}
	})

	t.Run("a Kafka pod is held by the rules of the Drain Cleaner", func(t *testing.T) {
		t.Parallel()
		g, p := gomega.NewWithT(t), newPlayer(t, e)
		pod := p.pod("my-cluster-kafka-0", kafka)
		p.evict(pod)
		g.Eventually(func() string { m, _ := p.message(pod.Name); return m }, "180s", "200ms").Should(gomega.Equal(rolled))
		if got := p.get(pod.Name).Annotations[v1alpha1.StrimziRollAnnotation]; got != v1alpha1.StrimziRollValue {
			t.Errorf("the operator has not been asked")
		}
	})

	t.Run("a pod that no rule is about is left to the next responder at once", func(t *testing.T) {
		t.Parallel()
		g, p := gomega.NewWithT(t), newPlayer(t, e)
		pod := p.pod("web-0", nil)
		p.evict(pod)
		g.Eventually(func() bool { _, completed := p.message(pod.Name); return completed }, "180s", "200ms").Should(gomega.BeTrue())
		p.next(pod.Name)
	})
}

// turnsOnLive leaves the gate on.
func turnsOnLive(t *testing.T, e *testkit.Env) {
	g, p := gomega.NewWithT(t), newPlayer(t, e)
	pod := p.pod("my-cluster-kafka-0", kafka)
	p.evict(pod)
	version := func() string {
		in, err := p.client.LifecycleV1alpha1().Evictions(p.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return in.ResourceVersion
	}
	g.Consistently(version, "5s", "500ms").Should(gomega.Equal(version()))
	if len(p.get(pod.Name).Annotations) > 0 {
		t.Error("the pod was written to")
	}
	configure(t, e, "featureGates: {EvictionRequestResponder: true}")
	g.Eventually(func() string { m, _ := p.message(pod.Name); return m }, "180s", "200ms").Should(gomega.Equal(rolled))
}

func turnsOffLive(t *testing.T, e *testkit.Env) {
	g, p := gomega.NewWithT(t), newPlayer(t, e)
	configure(t, e, "featureGates: {EvictionRequestResponder: false}")
	g.Eventually(configuration(t, e), "180s", "200ms").Should(gomega.ContainSubstring("EvictionRequestResponder: false"))
	other := p.pod("my-cluster-kafka-1", kafka)
	p.evict(other)
	g.Consistently(func() bool { return p.reported(other.Name).HeartbeatTime == nil }, "5s", "500ms").Should(gomega.BeTrue())

	in := newPlayer(t, e)
	e.Kubectl(t, "label", "namespace", in.namespace, "team=streams")
	configure(t, e, "featureGates: {EvictionRequestResponder: true}\neviction: {scope: {namespaceSelector: {matchLabels: {team: streams}}}}")
	inScope := in.pod("my-cluster-kafka-0", kafka)
	in.evict(inScope)
	g.Eventually(func() string { m, _ := in.message(inScope.Name); return m }, "180s", "200ms").Should(gomega.Equal(rolled))
	if p.reported(other.Name).HeartbeatTime != nil {
		t.Error("it responds in a namespace that is out of scope")
	}
}

func TestResponder_withoutTheAPIEverythingElseWorks(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: []string{gateOn}})
	g, p := gomega.NewWithT(t), newPlayer(t, e)
	p.apply("deny", `verdict: {type: Deny, message: the operator moves it}`)
	pod := p.pod("db-0", map[string]string{"db": "deny"})
	if len(pod.Spec.EvictionResponders) > 0 {
		t.Fatal("this API server knows responders, so the test shows nothing")
	}
	if err := p.classic(pod.Name); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a 429", err)
	}
	if got := p.get(pod.Name).Annotations["move"]; got != "please" {
		t.Error("the operator has not been asked")
	}
	said := func() int {
		log, err := os.ReadFile(e.Manager.LogFile)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(log), "The API server serves no Evictions")
	}
	g.Eventually(said, "180s", "200ms").Should(gomega.Equal(1))
	configure(t, e, "featureGates: {EvictionRequestResponder: true}") // looks again
	g.Eventually(configuration(t, e), "180s", "200ms").Should(gomega.ContainSubstring("EvictionRequestResponder"))
	g.Consistently(said, "3s", "500ms").Should(gomega.Equal(1))
}

// configuration reads the one that is in force.
func configuration(t testing.TB, e *testkit.Env) func() string {
	t.Helper()
	return func() string {
		in := &v1alpha1.Holdfast{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, in); err != nil {
			t.Fatal(err)
		}
		return in.Status.Configuration
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
