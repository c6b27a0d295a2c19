// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
)

// strimziPolicy is the policy that Holdfast ships, for one namespace.
func strimziPolicy(t testing.TB, e *testkit.Env, namespace string) {
	t.Helper()
	shipped(t, e, "strimzi", namespace)
}

// shipped applies a policy of config/policies for one namespace, under its name.
func shipped(t testing.TB, e *testkit.Env, name, namespace string) {
	t.Helper()
	text, err := os.ReadFile("../../config/policies/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(string(text), "name: "+name+"\n", "name: "+namespace+"\n", 1)
	mine = strings.Replace(mine, "  match:\n", "  match:\n    namespaces: ["+namespace+"]\n", 1)
	e.Apply(t, "", mine)
	gomega.NewWithT(t).Eventually(func() string {
		c := meta.FindStatusCondition(policyStatus(t, e, namespace).Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return ""
		}
		return c.Reason
	}, "180s", "100ms").Should(gomega.Equal("InForce"))
}

// brokers are pods of a Kafka cluster on a node.
func brokers(t testing.TB, n *nodes.Nodes, namespace, node string, count int) []*corev1.Pod {
	t.Helper()
	owner := n.Owner(t, namespace)
	var asked []nodes.Pod
	for i := range count {
		asked = append(asked, nodes.Pod{
			Namespace: namespace, Name: fmt.Sprint("my-cluster-kafka-", i), Node: node, Owner: owner, Labels: kafka("my-cluster-kafka"), EndsAfter: 200 * time.Millisecond,
		})
	}
	return n.Run(t, asked...)
}

// onceEach fails the test unless each of the pods was rolled once.
func onceEach(t testing.TB, roller *nodes.Roller, pods []*corev1.Pod) {
	t.Helper()
	rolled := func() map[string]int {
		out := map[string]int{}
		for _, r := range roller.Rolls() {
			out[r.Pod.Name]++
		}
		return out
	}
	want := map[string]int{}
	for _, p := range pods {
		want[p.Name] = 1
	}
	// The drain may end before the roller has noted its last pod, which it does when the pod's successor is ready.
	gomega.NewWithT(t).Eventually(rolled, "180s", "100ms").Should(gomega.HaveLen(len(want)))
	if diff := cmp.Diff(want, rolled()); diff != "" {
		t.Errorf("how often pods were rolled (-want +got):\n%s", diff)
	}
}

func TestDrain_withThePolicyEndsByItselfInOneCall(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	ns := e.Namespace(t)
	old, next := ns+"-old", ns+"-new"
	n.Add(t, old, next)
	strimziPolicy(t, e, ns)
	pods := brokers(t, n, ns, old, 3)
	other := n.Run(t, nodes.Pod{Namespace: ns, Name: "web", Node: old, Owner: n.Owner(t, ns)})
	roller := n.Roller(t, nodes.RollerOptions{Namespaces: []string{ns}, Delay: 100 * time.Millisecond})

	out := n.Drain(t, old, "--timeout=180s")
	if out.Code != 0 {
		t.Fatalf("the drain failed:\n%s%s", out.Stdout, out.Stderr)
	}
	if !strings.Contains(out.Stderr, "will retry after 5s") || !strings.Contains(out.Stderr, "Strimzi's operator moves the pod") {
		t.Errorf("the drain does not say what it waits for:\n%s", out.Stderr)
	}
	onceEach(t, roller, pods)
	n.WaitGone(t, append(pods, other...)...)
	gomega.NewWithT(t).Eventually(waiting(t, e, ns), "180s", "200ms").Should(gomega.BeZero())
	// Asking again for the pods by name, as a drainer that missed the move does,
	// rolls none of them.
	for _, p := range pods {
		if err := evict(t, e, ns, p.Name, nil); !apierrors.IsNotFound(err) {
			t.Errorf("the eviction of a pod that was moved: %v, want a 404", err)
		}
		if _, ok := annotations(t, e, ns, p.Name)["strimzi.io/manual-rolling-update"]; ok {
			t.Errorf("pod %s is to be rolled again", p.Name)
		}
	}
}

// All kinds of pods that Strimzi's operator moves, as whoever drains asks for them,
// and some that it does not.
func TestShippedPolicy_ofStrimziKnowsEveryKind(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if err := e.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	defer e.Kubectl(t, "delete", "node", ns)
	strimziPolicy(t, e, ns)
	defer e.Kubectl(t, "delete", "evp", ns)
	tests := []struct {
		kind, name string
		held       bool
	}{
		{"Kafka", "a-kafka", true},
		{"Kafka", "a-zookeeper", true},
		{"KafkaConnect", "a-connect", true},
		{"KafkaMirrorMaker2", "a-mirrormaker2", true},
		{"Kafka", "a-entity-operator", false},
		{"Kafka", "a-kafka-exporter", false},
		{"Kafka", "a-cruise-control", false},
		{"KafkaBridge", "a-bridge", false},
	}
	for _, tt := range tests {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: tt.name + "-", Labels: map[string]string{"strimzi.io/kind": tt.kind, "strimzi.io/name": tt.name}},
				Spec: corev1.PodSpec{
					NodeName: ns, AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "c", Image: "none"}},
				},
			}
			if err := e.Client.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			for _, drainer := range []func(*policyv1.Eviction){
				nil, // kubectl and the cluster autoscaler, by name
				func(in *policyv1.Eviction) { // Karpenter
					in.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}
				},
			} {
				err := evict(t, e, ns, p.Name, func(in *policyv1.Eviction) {
					if drainer != nil {
						drainer(in)
					}
					if in.DeleteOptions == nil {
						in.DeleteOptions = &metav1.DeleteOptions{}
					}
					in.DeleteOptions.DryRun = []string{metav1.DryRunAll}
				})
				if apierrors.IsTooManyRequests(err) != tt.held || err != nil && !tt.held {
					t.Errorf("got %v, want it held: %t", err, tt.held)
				}
			}
		})
	}
}

func TestDrain_asTheDrainCleanerFailsUntilThePodsWereMoved(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	ns := e.Namespace(t)
	old, next := ns+"-old", ns+"-new"
	n.Add(t, old, next)
	pods := brokers(t, n, ns, old, 3)
	out := n.Drain(t, old, "--timeout=180s")
	if out.Code == 0 || !strings.Contains(out.Stderr, "The pod will be rolled by the Strimzi Cluster Operator") {
		t.Fatalf("the drain ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	roller := n.Roller(t, nodes.RollerOptions{Namespaces: []string{ns}})
	gomega.NewWithT(t).Eventually(roller.Rolls, "180s", "100ms").Should(gomega.HaveLen(len(pods)))
	if out := n.Drain(t, old, "--timeout=180s"); out.Code != 0 {
		t.Errorf("the drain after the pods were moved:\n%s%s", out.Stdout, out.Stderr)
	}
	onceEach(t, roller, pods)
}

func TestDrain_ofAPrimaryWaitsForTheSwitchover(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	ns := e.Namespace(t)
	n.Add(t, ns)
	shipped(t, e, "cloudnativepg", ns)
	owner := n.Owner(t, ns)
	labels := func(role string) map[string]string {
		return map[string]string{"cnpg.io/cluster": "pg", "cnpg.io/instanceRole": role}
	}
	pods := n.Run(t,
		nodes.Pod{Namespace: ns, Name: "pg-1", Node: ns, Owner: owner, Labels: labels("primary")},
		nodes.Pod{Namespace: ns, Name: "pg-2", Node: ns, Owner: owner, Labels: labels("replica")},
	)
	if err := evict(t, e, ns, "pg-1", dryRun); err != nil {
		t.Errorf("an eviction from a node that nobody drains: %v", err)
	}
	drain := n.StartDrain(t, ns, "--timeout=180s")
	n.WaitGone(t, pods[1])
	gomega.NewWithT(t).Eventually(waiting(t, e, ns), "180s", "200ms").Should(gomega.BeEquivalentTo(1))
	if out := e.Kubectl(t, "label", "pod", "-n", ns, "pg-1", "--overwrite", "cnpg.io/instanceRole=replica"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	if out := drain.Wait(t); out.Code != 0 || !strings.Contains(out.Stderr, "the primary is switched over first") {
		t.Errorf("the drain ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}
