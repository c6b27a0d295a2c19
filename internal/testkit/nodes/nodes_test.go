// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
)

const (
	soon  = "180s"
	often = "50ms"
)

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		os.Exit(victim())
	}
	os.Exit(testkit.Run(m))
}

func TestDrain_endsAndThePodsAreGone(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "drained", "beside")
	ns := e.Namespace(t)
	owner := n.Owner(t, ns)
	pods := n.Run(t,
		nodes.Pod{Namespace: ns, Name: "a", Node: "drained", Owner: owner, Labels: map[string]string{"app": "web"}},
		nodes.Pod{Namespace: ns, Name: "b", Node: "drained", Owner: owner, EndsAfter: 300 * time.Millisecond},
		nodes.Pod{Namespace: ns, Name: "c", Node: "beside", Owner: owner},
	)

	out := n.Drain(t, "drained", "--timeout=30s")
	if out.Code != 0 || !strings.Contains(out.Stdout, "node/drained drained") {
		t.Fatalf("drain: exit code %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	var left corev1.PodList
	if err := e.Client.List(t.Context(), &left, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(left.Items) != 1 || left.Items[0].UID != pods[2].UID {
		t.Errorf("left are %v, want only the pod of the other node", left.Items)
	}

	var node corev1.Node
	key := client.ObjectKey{Name: "drained"}
	if err := e.Client.Get(t.Context(), key, &node); err != nil || !node.Spec.Unschedulable {
		t.Errorf("the node is not cordoned (%v)", err)
	}
	n.Uncordon(t, "drained")
	if err := e.Client.Get(t.Context(), key, &node); err != nil || node.Spec.Unschedulable {
		t.Errorf("the node is still cordoned (%v)", err)
	}
}

func TestDrain_refusesAPodWithoutOwner(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "unowned")
	n.Run(t, nodes.Pod{Namespace: e.Namespace(t), Name: "a", Node: "unowned"})
	if out := n.Drain(t, "unowned", "--timeout=30s"); out.Code == 0 || !strings.Contains(out.Stderr, "use --force to override") {
		t.Errorf("drain: exit code %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	if out := n.Drain(t, "unowned", "--timeout=30s", "--force"); out.Code != 0 {
		t.Errorf("drain --force: exit code %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}

func TestRun_aPodWithAFinalizerEndsWhenTheTestSaysSo(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "held")
	pods := n.Run(t, nodes.Pod{Namespace: e.Namespace(t), Name: "a", Node: "held", Finalizers: []string{"example.org/hold"}})
	if err := e.Client.Delete(t.Context(), pods[0]); err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	g.Consistently(func() error {
		return e.Client.Get(t.Context(), client.ObjectKeyFromObject(pods[0]), pods[0])
	}, "1s", often).Should(gomega.Succeed())
	if pods[0].DeletionTimestamp == nil {
		t.Error("the pod is not being deleted")
	}
	pods[0].Finalizers = nil
	if err := e.Client.Update(t.Context(), pods[0]); err != nil {
		t.Fatal(err)
	}
	n.WaitGone(t, pods[0])
}

// Kwok deletes by name. If it did so twice, it could meet the next pod of that name.
func TestRun_aPodThatEndsIsDeletedOnce(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "once")
	pod := nodes.Pod{Namespace: e.Namespace(t), Name: "a", Node: "once"}
	for range 5 {
		made := n.Run(t, pod)[0]
		if err := e.Client.Delete(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		n.WaitGone(t, made)
	}
	n.Run(t, pod)
	if err := n.Kwok.Stop(); err != nil {
		t.Fatal(err)
	}
	log := n.Kwok.LogTail()
	if deletes := strings.Count(log, `"msg":"Delete pod"`); deletes != 5 || strings.Contains(log, "failed to delete pod") {
		t.Errorf("%d deletes, want 5, all of them of a pod that was there:\n%s", deletes, log)
	}
}

func TestRun_aPodTakesItsTimeToEnd(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	n.Add(t, "slow")
	pods := n.Run(t, nodes.Pod{Namespace: e.Namespace(t), Name: "a", Node: "slow", EndsAfter: 5 * time.Second})
	if err := e.Client.Delete(t.Context(), pods[0]); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(pods[0]), pods[0]); err != nil {
		t.Fatalf("the pod is gone already: %v", err)
	}
	if pods[0].DeletionTimestamp == nil {
		t.Error("the pod is not being deleted")
	}
	n.WaitGone(t, pods[0])
}
