// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package responder_test

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// served is a cluster with Evictions. Kubernetes 1.37 has no controller for them, so
// the tests play its part; the API server holds them to the rules.
var served = cluster.Options{FeatureGates: []string{"EvictionRequestAPI=true"}, RuntimeConfig: []string{"lifecycle.k8s.io/v1alpha1=true"}}

const gateOn = "--feature-gates=+EvictionRequestResponder"

// player plays the part of Kubernetes' controller for Evictions in one namespace.
type player struct {
	t         testing.TB
	e         *testkit.Env
	client    kubernetes.Interface
	namespace string
}

func newPlayer(t testing.TB, e *testkit.Env) player {
	t.Helper()
	c, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	return player{t, e, c, e.Namespace(t)}
}

// pod makes one that never runs, because there is no node, and that names Holdfast
// as its responder.
func (p player) pod(name string, labels map[string]string) *corev1.Pod {
	p.t.Helper()
	in := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: "c", Image: "none"}},
			EvictionResponders:           []corev1.EvictionResponder{{Name: v1alpha1.EvictionResponder, Priority: new(int32(10000))}},
		},
	}
	var out *corev1.Pod
	gomega.NewWithT(p.t).Eventually(func() (err error) { // the service account of the namespace may not be there yet
		out, err = p.client.CoreV1().Pods(p.namespace).Create(p.t.Context(), in, metav1.CreateOptions{})
		return err
	}, "180s", "100ms").Should(gomega.Succeed())
	return out
}

// evict makes an Eviction of a pod, as the controller does it from an
// EvictionRequest, with Holdfast as the active responder.
func (p player) evict(pod *corev1.Pod) {
	p.t.Helper()
	in := &lifecyclev1alpha1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Labels: map[string]string{
			v1alpha1.EvictionResponder: string(lifecyclev1alpha1.EvictionParticipantRoleResponder),
			"drainer.example/drain":    string(lifecyclev1alpha1.EvictionParticipantRoleRequester),
		}},
		Spec: lifecyclev1alpha1.EvictionSpec{Target: lifecyclev1alpha1.EvictionTarget{
			Pod: &lifecyclev1alpha1.EvictionPodReference{Name: pod.Name, UID: pod.UID},
		}},
	}
	if _, err := p.client.LifecycleV1alpha1().Evictions(p.namespace).Create(p.t.Context(), in, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	p.update(pod.Name, func(s *lifecyclev1alpha1.EvictionStatus) {
		s.Requesters = []lifecyclev1alpha1.Requester{{Name: "drainer.example/drain", Intent: lifecyclev1alpha1.RequesterIntentEviction}}
		s.TargetResponders = []lifecyclev1alpha1.TargetResponder{
			{Name: v1alpha1.EvictionResponder, Priority: pod.Spec.EvictionResponders[0].Priority, State: lifecyclev1alpha1.ResponderStateActive},
			{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction, Priority: new(int32(100)), State: lifecyclev1alpha1.ResponderStateInactive},
		}
		s.Responders = []lifecyclev1alpha1.ResponderStatus{
			{Name: v1alpha1.EvictionResponder, StartTime: new(metav1.Now())},
			{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction},
		}
	})
}

// next ends Holdfast's turn and begins that of the last responder.
func (p player) next(name string) {
	p.t.Helper()
	p.update(name, func(s *lifecyclev1alpha1.EvictionStatus) {
		s.TargetResponders[0].State = lifecyclev1alpha1.ResponderStateCompleted
		s.TargetResponders[1].State = lifecyclev1alpha1.ResponderStateActive
		s.Responders[1].StartTime = new(metav1.Now())
	})
}

func (p player) update(name string, change func(*lifecyclev1alpha1.EvictionStatus)) {
	p.t.Helper()
	evictions := p.client.LifecycleV1alpha1().Evictions(p.namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		in, err := evictions.Get(p.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&in.Status)
		_, err = evictions.UpdateStatus(p.t.Context(), in, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// reported is what Holdfast has reported about a pod.
func (p player) reported(name string) lifecyclev1alpha1.ResponderStatus {
	p.t.Helper()
	in, err := p.client.LifecycleV1alpha1().Evictions(p.namespace).Get(p.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return in.Status.Responders[0]
}

// message is that of Holdfast; completed says that it has completed.
func (p player) message(name string) (out string, completed bool) {
	p.t.Helper()
	r := p.reported(name)
	if r.Message != nil {
		out = *r.Message
	}
	return out, r.CompletionTime != nil
}
