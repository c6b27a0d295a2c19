// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A label in a pod template is stamped on all that the template makes. The
// cluster's own controllers must be able to retire it, and people must not.
func TestControllers_aRolloutOfALabelledTemplateFinishes(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for _, label := range []string{strict, karmada, kruise} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			ns := e.Namespace(t)
			deployment := func(image string) string {
				return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {%[1]s: Always}}
spec:
  replicas: 2
  revisionHistoryLimit: 0
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, %[1]s: Always}}
    spec: {containers: [{name: c, image: %[2]s}]}
`, label, image)
			}
			e.Apply(t, ns, deployment("one"))
			pods := func(image string) func() int {
				return func() int { return countPods(t, e, ns, image) }
			}
			g.Eventually(pods("one"), "180s", "50ms").Should(gomega.Equal(2))

			var pod corev1.PodList
			if err := e.Client.List(t.Context(), &pod, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			if err := e.Client.Delete(t.Context(), &pod.Items[0]); !apierrors.IsForbidden(err) {
				t.Errorf("a person may not delete such a pod: got %v, want a 403", err)
			}

			e.Apply(t, ns, deployment("two"))
			g.Eventually(pods("two"), "180s", "50ms").Should(gomega.Equal(2), "the new pods do not come")
			g.Eventually(pods("one"), "180s", "50ms").Should(gomega.Equal(0), "the old pods do not go")
			g.Eventually(func() int {
				playKubelet(t, e, ns) // the history is cleaned once the rollout is complete
				var sets appsv1.ReplicaSetList
				if err := e.Client.List(t.Context(), &sets, client.InNamespace(ns)); err != nil {
					t.Fatal(err)
				}
				return len(sets.Items)
			}, "180s", "100ms").Should(gomega.Equal(1), "the old ReplicaSet does not go")
		})
	}
}

// Scaling down retires the claim of the last replica: the StatefulSet controller
// makes the pod its owner. That must not be refused, or scaling stalls; the data
// itself stays until somebody takes the label away.
func TestControllers_aStatefulSetScalesAndRetiresLabelledClaims(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {holdfast.dev/deletion-protected: Always}}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: db
  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db, holdfast.dev/deletion-protected: Always}}
    spec: {containers: [{name: c, image: one}]}
  volumeClaimTemplates:
  - metadata: {name: data, labels: {holdfast.dev/deletion-protected: Always}}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	pods := func() int { return countPods(t, e, ns, "one") }
	g.Eventually(pods, "180s", "50ms").Should(gomega.Equal(2))
	if out := e.Kubectl(t, "scale", "-n", ns, "statefulset/db", "--replicas=1"); out.Code != 0 {
		t.Fatalf("scale: %s", out.Stderr)
	}
	g.Eventually(pods, "180s", "50ms").Should(gomega.Equal(1), "the StatefulSet does not scale down")

	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-db-1"}}
	g.Eventually(func() int {
		mustStand(t, e, claim)
		return len(claim.OwnerReferences)
	}, "180s", "50ms").ShouldNot(gomega.BeZero(), "the claim is not retired")
	mustStand(t, e, claim)
	if err := e.Client.Patch(t.Context(), claim, mergeLabels(map[string]any{strict: nil})); err != nil {
		t.Fatal(err)
	}
	// Nothing mounts it here, but the finalizer that asks is only taken off by a
	// controller: on its way out is what the garbage collector can do.
	g.Eventually(func() bool {
		err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)
		return apierrors.IsNotFound(err) || claim.DeletionTimestamp != nil
	}, "180s", "50ms").Should(gomega.BeTrue(), "the claim is not collected once its label is gone")
}

// Kubernetes copies a Service's labels onto its Endpoints and EndpointSlices.
// If those could not be changed and deleted by their controllers, protecting a
// Service would stop its traffic from following its pods.
func TestControllers_theEndpointsOfALabelledServiceFollowIt(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: web, labels: {holdfast.dev/deletion-protected: Always}}, spec: {selector: {app: web}, ports: [{port: 80}]}}`)
	labelled := func() (n int) {
		var slices discoveryv1.EndpointSliceList
		if err := e.Client.List(t.Context(), &slices, client.InNamespace(ns), client.HasLabels{strict}); err != nil {
			t.Fatal(err)
		}
		var endpoints corev1.EndpointsList
		if err := e.Client.List(t.Context(), &endpoints, client.InNamespace(ns), client.HasLabels{strict}); err != nil {
			t.Fatal(err)
		}
		return len(slices.Items) + len(endpoints.Items)
	}
	g.Eventually(labelled, "180s", "50ms").Should(gomega.Equal(2), "the label is not copied")

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	if err := e.Client.Patch(t.Context(), service, mergeLabels(map[string]any{strict: nil})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(labelled, "180s", "50ms").Should(gomega.BeZero(), "the copies keep the label that their Service lost")

	if err := e.Client.Patch(t.Context(), service, mergeLabels(map[string]any{karmada: "Always"})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() int {
		var slices discoveryv1.EndpointSliceList
		if err := e.Client.List(t.Context(), &slices, client.InNamespace(ns), client.HasLabels{karmada}); err != nil {
			t.Fatal(err)
		}
		return len(slices.Items)
	}, "180s", "50ms").Should(gomega.Equal(1))
	if err := e.Client.Patch(t.Context(), service, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Delete(t.Context(), service); !apierrors.IsForbidden(err) {
		t.Errorf("the Service itself: got %v, want a 403", err)
	}
}

// A namespace with labelled pods of a Deployment must be able to go when neither
// it nor the Deployment is protected.
func TestControllers_aNamespaceWithStampedPodsFinishes(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, holdfast.dev/deletion-protected: Always}}
    spec: {containers: [{name: c, image: one}]}
`)
	g.Eventually(func() int { return countPods(t, e, ns, "one") }, "180s", "50ms").Should(gomega.Equal(2))
	if err := e.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() bool {
		return apierrors.IsNotFound(e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, &corev1.Namespace{}))
	}, "180s", "100ms").Should(gomega.BeTrue(), "the namespace does not finish")
}

// What the label cannot do for a pod that stands alone: whoever may create
// workloads can have one adopted and then deleted as surplus. Kept here so that
// the documents are mended when it is no longer so.
func TestControllers_aPodThatStandsAloneCanBeAdoptedAway(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web, holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
	e.Apply(t, ns, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`)
	mustGo(t, e, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}})
}

// Jobs of a CronJob and ControllerRevisions come from templates too.
func TestControllers_historyIsCleanedUp(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	daemons := func(image string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {revisionHistoryLimit: 0, selector: {matchLabels: {app: d}},
			template: {metadata: {labels: {app: d, %s: Always}}, spec: {containers: [{name: c, image: %s}]}}}}`, strict, image)
	}
	for _, image := range []string{"one", "two", "three"} {
		e.Apply(t, ns, daemons(image))
		g.Eventually(func() (revisions []string) {
			var list appsv1.ControllerRevisionList
			if err := e.Client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			for _, r := range list.Items {
				revisions = append(revisions, string(r.Data.Raw))
			}
			return revisions
		}, "180s", "100ms").Should(gomega.ConsistOf(gomega.ContainSubstring(`"image":"`+image+`"`)), "old revisions stay, or the new one does not come")
	}
	// A Job without labels takes those of its template, and would be protected itself.
	e.Apply(t, ns, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {app: j}}, spec: {ttlSecondsAfterFinished: 0, template: {metadata: {labels: {holdfast.dev/deletion-protected: Always}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`)
	var pods corev1.PodList
	g.Eventually(func() int {
		if err := e.Client.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{"batch.kubernetes.io/job-name": "j"}); err != nil {
			t.Fatal(err)
		}
		return len(pods.Items)
	}, "180s", "100ms").Should(gomega.Equal(1))
	pods.Items[0].Status.Phase = corev1.PodSucceeded
	if err := e.Client.Status().Update(t.Context(), &pods.Items[0]); err != nil {
		t.Fatal(err)
	}
	mustGo(t, e, &pods.Items[0])
}

func countPods(t testing.TB, e *testkit.Env, ns, image string) (n int) {
	t.Helper()
	var pods corev1.PodList
	if err := e.Client.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if strings.HasSuffix(pods.Items[i].Spec.Containers[0].Image, image) && pods.Items[i].DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// playKubelet makes all pods of a namespace ready.
func playKubelet(t testing.TB, e *testkit.Env, ns string) {
	t.Helper()
	var pods corev1.PodList
	if err := e.Client.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := e.Client.Status().Update(t.Context(), pod); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
}
