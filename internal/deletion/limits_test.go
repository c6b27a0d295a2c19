// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What protection from deletion is not, as docs/concepts/protection.md says.

// The delete behind an eviction is asked of no admission. It is the one way round.
func TestLimits_anEvictionDeletesAProtectedPod(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
	protectOne(t, e, ns, "v1", "Pod", "p")
	refused(t, e, "delete", "pod", "p", "-n", ns)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
	if err := e.Client.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}); err != nil {
		t.Fatal(err)
	}
	mustGo(t, e, pod)
}

func TestLimits_scalingToZeroIsNotDeleting(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {holdfast.dev/deletion-protected: Always}}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	protectOne(t, e, ns, "apps/v1", "Deployment", "d")
	done(t, e, "scale", "deployment", "d", "-n", ns, "--replicas=0")
	refused(t, e, "delete", "deployment", "d", "-n", ns)
}
