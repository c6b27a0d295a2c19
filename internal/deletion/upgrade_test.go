// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// unboundMarks is the number of marked objects in the upgrade test, and shortUnbound with -short.
const (
	unboundMarks = 3000
	shortUnbound = 100
)

// The manager binds the marks of an older version while a client tries without a pause to delete what they protect.
func TestUpgrade_marksAreBoundWithNoMomentUnprotected(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	objects := make([]*corev1.ConfigMap, unboundMarks)
	if testing.Short() {
		objects = objects[:shortUnbound]
	}
	if err := e.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		mergeLabels(map[string]any{v1alpha1.MarkedLabel: v1alpha1.MarkSet, v1alpha1.HoldsProtectedMark: v1alpha1.MarkSet})); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range objects {
		objects[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: fmt.Sprintf("x-%d", i), Labels: map[string]string{
				v1alpha1.MarkedLabel: v1alpha1.MarkSet, v1alpha1.ProtectedByMark: ns, "app": ns,
			},
		}}
		group.Go(func() error { return e.Client.Create(t.Context(), objects[i]) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	e.Apply(t, "", fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: %[1]s}, spec: {
		protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: %[1]s, labelSelector: {matchLabels: {app: %[1]s}}}]}]}}`, ns))
	if out := e.Kubectl(t, "apply", "--server-side", "-f", "testdata/unbound/policies.yaml"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	deletes := func(o client.Object) error { return e.Client.Delete(t.Context(), o, client.DryRunAll) }
	for _, o := range []client.Object{objects[0].DeepCopy(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}} {
		g.Eventually(func() bool { return apierrors.IsForbidden(deletes(o)) }, "180s", "50ms").Should(gomega.BeTrue())
	}

	ctx, cancel := context.WithCancel(t.Context())
	tried := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			o := objects[n%len(objects)]
			err := e.Client.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: o.Name}}, client.DryRunAll)
			if err == nil {
				t.Errorf("%s could be deleted", o.Name)
			}
		}
		tried <- n
	}()
	e.StartManager(t)
	g.Eventually(func() error {
		return e.Client.Get(t.Context(), client.ObjectKey{Name: marks.UnboundPolicy}, &admissionregistrationv1.ValidatingAdmissionPolicy{})
	}, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsNotFound))
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	t.Logf("%d tries", <-tried)

	var all corev1.ConfigMapList
	if err := e.Client.List(t.Context(), &all, client.MatchingLabels{"app": ns}); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		if got := v1alpha1.MarkOf(&all.Items[i], v1alpha1.ProtectedByMark); got != ns {
			t.Errorf("%s: %v", all.Items[i].Name, all.Items[i].Labels)
		}
		if got := all.Items[i].Annotations[v1alpha1.LabelsAnnotation(v1alpha1.ProtectedByMark)]; got != "app" {
			t.Errorf("%s: the labels that select it are %q", all.Items[i].Name, got)
		}
	}
	if len(all.Items) != len(objects) {
		t.Errorf("%d objects of %d are there", len(all.Items), len(objects))
	}
	if err := deletes(objects[0].DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a 403", err)
	}
}
