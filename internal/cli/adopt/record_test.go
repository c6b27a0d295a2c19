// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

func hook(name, note string) webhook {
	return webhook{Kind: validating, Name: name, manifest: map[string]any{"kind": validating, "metadata": map[string]any{"name": name}, "note": note}}
}

func deployment(name string, replicas int32) appsv1.Deployment {
	return appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hnc-system", Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
}

func TestRecord_take(t *testing.T) {
	t.Parallel()
	known := func() *record {
		return &record{Webhooks: []map[string]any{hook("a", "old").manifest}, Replicas: []replicas{{"hnc-system", "hnc", 3}}}
	}
	tests := []struct {
		name     string
		found    found
		webhooks string
		replicas int32
	}{
		{"what a run before has removed is not forgotten", found{deployments: []appsv1.Deployment{deployment("hnc", 0)}}, "old", 3},
		{"what was made again counts", found{webhooks: []webhook{hook("a", "new")}, deployments: []appsv1.Deployment{deployment("hnc", 2)}}, "new", 2},
		{"nothing is there any more", found{}, "old", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := known()
			r.take(tt.found)
			if len(r.Webhooks) != 1 || r.Webhooks[0]["note"] != tt.webhooks || len(r.Replicas) != 1 || r.Replicas[0].Replicas != tt.replicas {
				t.Errorf("got %v, %v", r.Webhooks, r.Replicas)
			}
		})
	}
	r := &record{}
	r.take(found{deployments: []appsv1.Deployment{deployment("hnc", 0)}})
	if diff := cmp.Diff([]replicas{{"hnc-system", "hnc", 0}}, r.Replicas); diff != "" {
		t.Errorf("an HNC that had no pods (-want +got)\n%s", diff)
	}
}

// handoverOf is one on a cluster that has nothing but the UID of kube-system.
func handoverOf(file, uid string) *handover {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)}}
	return &handover{Options: Options{Namespace: "holdfast-system", Record: file}, kube: fake.NewClientset(system)}
}

func TestRecord_file(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record.yaml")
	h := handoverOf(file, "here")
	if r, err := h.loadFile(t.Context()); r != nil || err != nil {
		t.Errorf("without a file: %v, %v", r, err)
	}
	r := &record{}
	r.take(found{webhooks: []webhook{hook("a", "x")}, deployments: []appsv1.Deployment{deployment("hnc", 2)}})
	if err := h.keepFile(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := h.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Webhooks, got.Webhooks); diff != "" || !got.fromFile {
		t.Errorf("read again: %t (-want +got)\n%s", got.fromFile, diff)
	}
	if err := h.keep(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if got, err = h.load(t.Context()); err != nil || got.fromFile || got.object == nil {
		t.Errorf("once it is in the cluster the file says nothing new: %v, %v", got, err)
	}
	if _, err := handoverOf(file, "elsewhere").load(t.Context()); err == nil || !strings.Contains(err.Error(), "is of another cluster") {
		t.Errorf("the file of another cluster: %v", err)
	}
	if err := os.WriteFile(file, []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.load(t.Context()); err == nil || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("somebody else's file: %v", err)
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	by := func(manager, subresource string) []metav1.ManagedFieldsEntry {
		raw := []byte(`{"f:spec":{"f:replicas":{}}}`)
		return []metav1.ManagedFieldsEntry{
			{Manager: "kube-controller-manager", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:replicas":{}}}`)},
			{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(string(raw))},
		}
	}
	pod := func(owner string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "hnc-system", Name: "p", Labels: map[string]string{"a": "b"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, Controller: new(true)}},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	tests := []struct {
		name, want string
		replicas   int32
		managed    []metav1.ManagedFieldsEntry
		status     int32
		pod        *corev1.Pod
	}{
		{name: "nothing", want: ""},
		{name: "scaled up by somebody", replicas: 1, managed: by("argocd-controller", ""), want: "Deployment hnc-system/hnc is scaled to 1, by argocd-controller"},
		{name: "not scaled yet", replicas: 1, managed: by(fieldManager, "scale"), want: "Deployment hnc-system/hnc is scaled to 1"},
		{name: "pods that are counted", status: 1, want: "pods of Deployment hnc-system/hnc end"},
		{name: "a pod that is not counted any more", pod: pod("hnc-123", corev1.PodRunning), want: "pods are on their way out: hnc-system/p"},
		{name: "a pod that has ended", pod: pod("hnc-123", corev1.PodFailed), want: ""},
		{name: "a pod of somebody else", pod: pod("other-123", corev1.PodRunning), want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := handoverOf("", "here")
			if tt.pod != nil {
				h.kube = fake.NewClientset(tt.pod)
			}
			d := deployment("hnc", tt.replicas)
			d.ManagedFields, d.Status.Replicas = tt.managed, tt.status
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			if got, err := h.left(t.Context(), &d); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
