// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
	"github.com/holdfast-dev/holdfast/internal/testkit/roller"
)

func TestRoller_rollsThreePodsOneByOne(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "old", "new")
	ns := e.Namespace(t)
	owner := n.Owner(t, ns)
	names := []string{"kafka-0", "kafka-1", "kafka-2"}
	var asked []nodes.Pod
	for _, name := range names {
		asked = append(asked, nodes.Pod{
			Namespace: ns, Name: name, Node: "old", Owner: owner, EndsAfter: 200 * time.Millisecond,
			Labels: map[string]string{"strimzi.io/name": "my-kafka"},
		})
	}
	before := n.Run(t, asked...)
	kept := n.Run(t, nodes.Pod{Namespace: ns, Name: "kept", Node: "old", Owner: owner})[0]

	if out := e.Kubectl(t, "cordon", "old"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	events := watchPods(t, e, ns)
	r := n.Roller(t, nodes.RollerOptions{Namespaces: []string{ns}, Delay: 50 * time.Millisecond})
	for _, pod := range before {
		annotate(t, e, pod, v1alpha1.StrimziRollAnnotation)
	}
	g := gomega.NewWithT(t)
	g.Eventually(r.Rolls, soon, often).Should(gomega.HaveLen(3))
	if most := mostAway(t, e, events, kept); most != 1 {
		t.Errorf("%d pods were away at the same time, want one by one", most)
	}

	var want, got []nodes.Roll
	for i, roll := range r.Rolls() {
		pod := &corev1.Pod{}
		if err := e.Client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: names[i]}, pod); err != nil {
			t.Fatal(err)
		}
		want = append(want, nodes.Roll{Pod: client.ObjectKeyFromObject(pod), Old: before[i].UID, New: pod.UID, At: roll.At})
		got = append(got, roll)
		if pod.UID == before[i].UID || pod.Spec.NodeName != "new" || pod.Labels["strimzi.io/name"] != "my-kafka" {
			t.Errorf("%s is %s on node %s with the labels %v", pod.Name, pod.UID, pod.Spec.NodeName, pod.Labels)
		}
		if value, ok := pod.Annotations[v1alpha1.StrimziRollAnnotation]; ok {
			t.Errorf("%s has the annotation again: %q", pod.Name, value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rolls (-want +got):\n%s", diff)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), &corev1.Pod{}); err != nil {
		t.Errorf("a pod without the annotation: %v", err)
	}
}

func TestRoller_leavesThePodPendingWhileThereIsNoNode(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "only")
	pod := n.Run(t, nodes.Pod{Namespace: e.Namespace(t), Name: "kafka-0", Node: "only"})[0]

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := roller.Start(ctx, e.Config, e.Client, roller.Options{
		Namespaces: []string{pod.Namespace}, NodeLabels: n.Kwok.NodeLabels(),
	})
	if err != nil {
		t.Fatal(err)
	}
	annotate(t, e, pod, v1alpha1.StrimziRollAnnotation)
	g := gomega.NewWithT(t)
	var next corev1.Pod
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(e.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &next)).To(gomega.Succeed())
		g.Expect(next.UID).NotTo(gomega.Equal(pod.UID))
		g.Expect(next.Status.Phase).To(gomega.Equal(corev1.PodPending))
	}, soon, often).Should(gomega.Succeed())
	if rolls := r.Rolls(); len(rolls) > 0 {
		t.Errorf("rolled %v, with no node to roll to", rolls)
	}

	// A delete of the pod by its name that comes late takes its successor, which the roller creates again.
	g.Expect(e.Client.Delete(t.Context(), &next, client.GracePeriodSeconds(0))).To(gomega.Succeed())
	n.Add(t, "another")
	g.Eventually(r.Rolls, soon, often).Should(gomega.HaveLen(1))
	g.Expect(e.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &next)).To(gomega.Succeed())
	g.Expect(next.Spec.NodeName).To(gomega.Equal("another"))
	cancel()
	g.Eventually(r.Done(), soon).Should(gomega.BeClosed())
}

// watchPods returns all that happens to the pods of a namespace.
func watchPods(t *testing.T, e *testkit.Env, namespace string) watch.Interface {
	t.Helper()
	watcher, err := client.NewWithWatch(e.Config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := watcher.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// mostAway returns how many pods at most were gone, ending or not ready at the same time, until now. It
// marks one more pod, to see from the events when that is.
func mostAway(t *testing.T, e *testkit.Env, events watch.Interface, last *corev1.Pod) int {
	t.Helper()
	const mark = "example.org/last-event"
	annotate(t, e, last, mark)
	away, most := map[string]bool{}, 0
	for {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended before the event")
		case event := <-events.ResultChan():
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("unexpected event %v", event)
			}
			if pod.Annotations[mark] != "" {
				return most
			}
			delete(away, pod.Name)
			if event.Type == watch.Deleted || pod.DeletionTimestamp != nil || !kwok.PodReady(pod) {
				away[pod.Name] = true
			}
			most = max(most, len(away))
		}
	}
}

func annotate(t *testing.T, e *testkit.Env, pod *corev1.Pod, annotation string) {
	t.Helper()
	base := pod.DeepCopy()
	pod.Annotations = map[string]string{annotation: "true"}
	maps.Copy(pod.Annotations, base.Annotations)
	if err := e.Client.Patch(t.Context(), pod, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}
