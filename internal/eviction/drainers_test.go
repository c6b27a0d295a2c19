// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What the API server sends for evictions by some programs that drain nodes; they
// differ in version, namespace and precondition.
const (
	byClusterAutoscaler = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"SOME-UUID",
		"kind":{"group":"policy","version":"v1beta1","kind":"Eviction"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",
		"requestKind":{"group":"policy","version":"v1beta1","kind":"Eviction"},"requestResource":{"group":"","version":"v1","resource":"pods"},"requestSubResource":"eviction",
		"name":"POD","namespace":"NAMESPACE","operation":"CREATE",
		"userInfo":{"username":"system:serviceaccount:kube-system:cluster-autoscaler","groups":["system:serviceaccounts","system:authenticated"]},
		"object":{"kind":"Eviction","apiVersion":"policy/v1beta1","metadata":{"name":"POD","namespace":"NAMESPACE"},"deleteOptions":{"gracePeriodSeconds":600}},
		"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`
	byKarpenter = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"SOME-UUID",
		"kind":{"group":"policy","version":"v1","kind":"Eviction"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",
		"requestKind":{"group":"policy","version":"v1","kind":"Eviction"},"requestResource":{"group":"","version":"v1","resource":"pods"},"requestSubResource":"eviction",
		"name":"POD","namespace":"NAMESPACE","operation":"CREATE",
		"userInfo":{"username":"system:serviceaccount:kube-system:karpenter","groups":["system:serviceaccounts","system:authenticated"]},
		"object":{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"POD"},"deleteOptions":{"preconditions":{"uid":"UID"}}},
		"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`
	byKubectl = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"SOME-UUID",
		"kind":{"group":"policy","version":"v1","kind":"Eviction"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",
		"name":"POD","namespace":"NAMESPACE","operation":"CREATE","userInfo":{"username":"admin","groups":["system:masters","system:authenticated"]},
		"object":{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"POD","namespace":"NAMESPACE","creationTimestamp":null},"deleteOptions":{}},
		"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`
)

func TestDrainers(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, tt := range []struct {
		name, question string
		replaced       bool
		want           string
		patches        int
		annotated      map[string]string
	}{
		{name: "the cluster autoscaler, by name", question: byClusterAutoscaler, want: stays, patches: 1, annotated: rolled},
		{name: "the cluster autoscaler after the pod was replaced takes the new pod for the old", question: byClusterAutoscaler, replaced: true, want: stays, patches: 1, annotated: rolled},
		{name: "Karpenter, by UID and without a namespace", question: byKarpenter, want: stays, patches: 1, annotated: rolled},
		{name: "Karpenter after the pod was replaced leaves the new pod alone", question: byKarpenter, replaced: true, want: passes},
		{name: "kubectl drain, by name", question: byKubectl, want: stays, patches: 1, annotated: rolled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			p := kafkaPod(t, r, ns)
			ask := strings.NewReplacer("POD", p.Name, "NAMESPACE", ns, `"UID"`, fmt.Sprintf("%q", p.UID)).Replace(tt.question)
			if tt.replaced {
				r.recreate(t, p)
			}
			if diff := cmp.Diff(tt.want, r.ask(t, ask)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if gets, patches := r.wire.calls(); gets != 1 || patches != tt.patches {
				t.Errorf("got %d GETs and %d PATCHes, want 1 and %d", gets, patches, tt.patches)
			}
			if diff := cmp.Diff(tt.annotated, r.annotations(t, ns, p.Name)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// A policy can tell drainers apart.
func TestDrainers_aPolicyForOneOfThem(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	r := newRig(t, e)
	r.policies(t, map[string]string{"autoscaler": `{"match": {"condition": "request.username == 'system:serviceaccount:kube-system:cluster-autoscaler' && 'system:serviceaccounts' in request.groups"},
		"verdict": {"type": "Deny", "code": 503, "message": "not while the market is open"}}`})
	p := r.make(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db-0"}})
	fill := strings.NewReplacer("POD", p.Name, "NAMESPACE", ns, `"UID"`, fmt.Sprintf("%q", p.UID))
	want := `{"uid":"SOME-UUID","allowed":false,"status":{"metadata":{},"message":"EvictionPolicy autoscaler: not while the market is open","reason":"ServiceUnavailable","code":503},"auditAnnotations":{"refusal":"EvictionPolicy autoscaler: not while the market is open"}}`
	if diff := cmp.Diff(want, r.ask(t, fill.Replace(byClusterAutoscaler))); diff != "" {
		t.Errorf("the cluster autoscaler (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(passes, r.ask(t, fill.Replace(byKarpenter))); diff != "" {
		t.Errorf("Karpenter (-want +got):\n%s", diff)
	}
}
