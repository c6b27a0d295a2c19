// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
)

// removeTimeout bounds the removal of the nodes when the test ends.
const removeTimeout = 10 * time.Second

// Nodes are the nodes of one test.
type Nodes struct {
	// Kwok plays them.
	Kwok *kwok.Process

	e *testkit.Env
}

// Pod is a pod on a node; see Run.
type Pod = kwok.Pod

// Start starts kwok for the nodes of a test, which end with it. Tests that share a cluster have each
// nodes of their own, but the names of nodes are the cluster's.
func Start(t testing.TB, e *testkit.Env) *Nodes {
	t.Helper()
	if e.Dir == "" {
		t.Fatal("nodes that kwok plays are for a local control plane, which has no scheduler that puts pods onto them: use testkit.New")
	}
	p, err := kwok.Start(t.Context(), kwok.Options{Kubeconfig: e.Kubeconfig, Dir: t.TempDir(), Progress: os.Stderr})
	if err != nil {
		t.Fatalf("start kwok: %v", err)
	}
	n := &Nodes{Kwok: p, e: e}
	t.Cleanup(func() { n.end(t) })
	return n
}

func (n *Nodes) end(t testing.TB) {
	if err := n.Kwok.Stop(); err != nil {
		t.Errorf("stop kwok: %v", err)
	}
	if t.Failed() {
		t.Logf("kwok's log ends:\n%s", n.Kwok.LogTail())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), removeTimeout)
	defer cancel()
	if err := n.Kwok.RemoveNodes(ctx, n.e.Client); err != nil {
		t.Logf("a test that left the cluster without an API server? %v", err)
	}
}

// Add makes nodes and waits until they are Ready.
func (n *Nodes) Add(t testing.TB, names ...string) {
	t.Helper()
	if err := n.Kwok.AddNodes(t.Context(), n.e.Client, names...); err != nil {
		t.Fatal(err)
	}
}

// Owner makes an object in a namespace that pods can belong to, so that kubectl drain evicts them. Nothing
// makes such a pod again.
func (n *Nodes) Owner(t testing.TB, namespace string) *metav1.OwnerReference {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "owner-"}}
	if err := n.e.Client.Create(t.Context(), owner); err != nil {
		t.Fatalf("make an owner of pods: %v", err)
	}
	ref, err := kwok.OwnedBy(n.e.Client, owner)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Run makes pods, waits until they are Running and Ready, and returns them as they are then.
func (n *Nodes) Run(t testing.TB, pods ...Pod) []*corev1.Pod {
	t.Helper()
	made, err := n.Kwok.RunPods(t.Context(), n.e.Client, pods...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// WaitGone waits until pods are gone; another pod under the same name is not the one.
func (n *Nodes) WaitGone(t testing.TB, pods ...*corev1.Pod) {
	t.Helper()
	if err := n.Kwok.WaitGone(t.Context(), n.e.Client, pods...); err != nil {
		t.Fatal(err)
	}
}

// Drain runs the real kubectl drain, as an administrator, and returns what it says. It waits for as long as
// kubectl does, which is without an end unless the arguments bound it, as "--timeout=10s" does.
func (n *Nodes) Drain(t testing.TB, node string, args ...string) testkit.Output {
	t.Helper()
	return n.e.Kubectl(t, slices.Concat([]string{"drain", node}, args)...)
}

// StartDrain is Drain for a test that goes on meanwhile.
func (n *Nodes) StartDrain(t testing.TB, node string, args ...string) *testkit.Running {
	t.Helper()
	return n.e.StartKubectl(t, slices.Concat([]string{"drain", node}, args)...)
}

// Uncordon lets pods onto a node again.
func (n *Nodes) Uncordon(t testing.TB, node string) {
	t.Helper()
	if out := n.e.Kubectl(t, "uncordon", node); out.Code != 0 {
		t.Fatalf("uncordon %s: %s", node, out.Stderr)
	}
}
