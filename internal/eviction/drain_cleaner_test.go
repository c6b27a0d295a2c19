// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// pod makes a pod that never runs: there is no node.
func pod(t testing.TB, e *testkit.Env, namespace, name string, labels map[string]string) *corev1.Pod {
	t.Helper()
	return podOn(t, e, "", namespace, name, labels)
}

// podOn makes a pod of a node that may be there; nothing runs it.
func podOn(t testing.TB, e *testkit.Env, node, namespace, name string, labels map[string]string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: map[string]string{"other": "kept"}},
		Spec: corev1.PodSpec{
			NodeName:                     node,
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: "c", Image: "none"}},
		},
	}
	var err error
	gomega.NewWithT(t).Eventually(func() error { // the service account of the namespace may not be there yet
		p, err = clientset(t, e).CoreV1().Pods(namespace).Create(t.Context(), p.DeepCopy(), metav1.CreateOptions{})
		return err
	}, "180s", "100ms").Should(gomega.Succeed())
	return p
}

func clientset(t testing.TB, e *testkit.Env) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// evict asks for an eviction; change may be nil.
func evict(t testing.TB, e *testkit.Env, namespace, name string, change func(*policyv1.Eviction)) error {
	t.Helper()
	in := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if change != nil {
		change(in)
	}
	return clientset(t, e).PolicyV1().Evictions(namespace).Evict(t.Context(), in)
}

// dryRun makes an eviction one that changes nothing.
func dryRun(in *policyv1.Eviction) {
	in.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
}

func kafka(name string) map[string]string {
	return map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": name}
}

func annotations(t testing.TB, e *testkit.Env, namespace, name string) map[string]string {
	t.Helper()
	p, err := clientset(t, e).CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Annotations
}

func TestDrainCleaner_aKafkaPodStaysAndItsOperatorIsAsked(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	p := pod(t, e, ns, "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	for _, uid := range []*types.UID{nil, &p.UID, nil} {
		err := evict(t, e, ns, p.Name, func(in *policyv1.Eviction) {
			if uid != nil {
				in.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: uid}}
			}
		})
		status, ok := err.(apierrors.APIStatus)
		if !ok {
			t.Fatalf("got %v, want a refusal", err)
		}
		want := metav1.Status{
			Status: metav1.StatusFailure, Code: 500,
			Message: `admission webhook "strimzi-drain-cleaner.strimzi.io" denied the request: The pod will be rolled by the Strimzi Cluster Operator`,
		}
		if diff := cmp.Diff(want, status.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"other": "kept", "strimzi.io/manual-rolling-update": "true"}, annotations(t, e, ns, p.Name)); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
	}
}
