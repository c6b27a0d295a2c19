// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const rollAnnotation = "strimzi.io/manual-rolling-update"

// rolled is what a client sees of a refusal, whole.
var rolled = metav1.Status{
	Status: metav1.StatusFailure, Code: 500,
	Message: `admission webhook "strimzi-drain-cleaner.strimzi.io" denied the request: The pod will be rolled by the Strimzi Cluster Operator`,
}

func wantStatus(t testing.TB, err error, want metav1.Status) {
	t.Helper()
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	if diff := cmp.Diff(want, status.ErrStatus); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// evictRaw posts an Eviction as it is written.
func evictRaw(t testing.TB, c kubernetes.Interface, namespace, name, body string, query ...string) error {
	t.Helper()
	req := c.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces", namespace, "pods", name, "eviction").
		SetHeader("Content-Type", "application/json").Body([]byte(body))
	for _, key := range query {
		req = req.Param(key, metav1.DryRunAll)
	}
	return req.Do(t.Context()).Error()
}

func byUID(uid types.UID) func(*policyv1.Eviction) {
	return func(in *policyv1.Eviction) {
		in.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	}
}

// These are the system tests of the Strimzi Drain Cleaner, but for the reload of a
// certificate, which Holdfast does without a new pod.
func TestUpstreamSystem_evictions(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	c := clientset(t, e)
	ns := e.Namespace(t)
	for i, tt := range []struct {
		name   string
		labels map[string]string
		evict  func(namespace, name string, uid types.UID) error
		// refused is the status that the client sees; nil for an eviction that is done.
		refused   *metav1.Status
		stays     bool
		annotated bool
	}{
		{
			name: "a Kafka pod (testEvictionRequestOnKafkaPod)", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true, annotated: true,
			evict: func(ns, name string, _ types.UID) error { return evict(t, e, ns, name, nil) },
		},
		{
			name: "a Kafka pod by its UID (testEvictionRequestOnKafkaPodWithCorrectUUID)", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true, annotated: true,
			evict: func(ns, name string, uid types.UID) error { return evict(t, e, ns, name, byUID(uid)) },
		},
		{
			name: "a Kafka pod by another UID (testEvictionRequestOnKafkaPodWithWrongUUID)", labels: kafka("my-cluster-kafka"), stays: true,
			refused: &metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict},
			evict: func(ns, name string, _ types.UID) error {
				return evict(t, e, ns, name, byUID("9c6d8f4e-0000-4000-8000-000000000000"))
			},
		},
		{
			name: "a pod with the kind label alone (testEvictionRequestOnRandomPod)", labels: map[string]string{"strimzi.io/kind": "Kafka"},
			evict: func(ns, name string, _ types.UID) error { return evict(t, e, ns, name, nil) },
		},
		{
			name: "a ZooKeeper pod", labels: kafka("my-cluster-zookeeper"), refused: &rolled, stays: true, annotated: true,
			evict: func(ns, name string, _ types.UID) error { return evict(t, e, ns, name, nil) },
		},
		{
			name: "a dry run by the options in the Eviction", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true,
			evict: func(ns, name string, _ types.UID) error {
				return evict(t, e, ns, name, dryRun)
			},
		},
		{
			name: "a dry run in the query", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true,
			evict: func(ns, name string, _ types.UID) error {
				return evictRaw(t, c, ns, name, fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, name), "dryRun")
			},
		},
		{
			name: "an Eviction of policy/v1beta1", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true, annotated: true,
			evict: func(ns, name string, _ types.UID) error {
				return evictRaw(t, c, ns, name, fmt.Sprintf(`{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":%q,"namespace":%q},"deleteOptions":{"gracePeriodSeconds":600}}`, name, ns))
			},
		},
		{
			name: "an Eviction without a namespace, by UID, as from Karpenter", labels: kafka("my-cluster-kafka"), refused: &rolled, stays: true, annotated: true,
			evict: func(ns, name string, uid types.UID) error {
				return evictRaw(t, c, ns, name, fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q},"deleteOptions":{"preconditions":{"uid":%q}}}`, name, uid))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := pod(t, e, ns, fmt.Sprintf("my-cluster-kafka-%d", i), tt.labels)
			err := tt.evict(ns, p.Name, p.UID)
			switch {
			case tt.refused == nil && err != nil:
				t.Errorf("got %v", err)
			case tt.refused != nil && tt.refused.Message == "":
				if apierrors.ReasonForError(err) != tt.refused.Reason {
					t.Errorf("got %v, want a %s of the API server", err, tt.refused.Reason)
				}
			case tt.refused != nil:
				wantStatus(t, err, *tt.refused)
			}
			if !tt.stays {
				gomega.NewWithT(t).Eventually(func() bool {
					_, err := c.CoreV1().Pods(ns).Get(t.Context(), p.Name, metav1.GetOptions{})
					return apierrors.IsNotFound(err)
				}, "180s", "50ms").Should(gomega.BeTrue())
				return
			}
			want := map[string]string{"other": "kept"}
			if tt.annotated {
				want[rollAnnotation] = "true"
			}
			if diff := cmp.Diff(want, annotations(t, e, ns, p.Name)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// A drain that only shows what it would do has no effect on pods. The API server
// asks the webhook as if it were in earnest.
func TestUpstreamSystem_kubectlDrainDryRun(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, "", "{apiVersion: v1, kind: Node, metadata: {name: "+ns+"}}")
	defer e.Kubectl(t, "delete", "node", ns)
	p := podOn(t, e, ns, ns, "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	out := e.Kubectl(t, "drain", ns, "--dry-run=server", "--force", "--timeout=30s")
	if !strings.Contains(out.Stderr, rolled.Message) {
		t.Errorf("got code %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
	if diff := cmp.Diff(map[string]string{"other": "kept"}, annotations(t, e, ns, p.Name)); diff != "" {
		t.Errorf("annotations after a dry run (-want +got):\n%s", diff)
	}
	out = e.Kubectl(t, "drain", ns, "--force", "--timeout=30s")
	if out.Code == 0 || !strings.Contains(out.Stderr, rolled.Message) {
		t.Errorf("got code %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
	if diff := cmp.Diff(map[string]string{"other": "kept", rollAnnotation: "true"}, annotations(t, e, ns, p.Name)); diff != "" {
		t.Errorf("annotations after a drain (-want +got):\n%s", diff)
	}
}
