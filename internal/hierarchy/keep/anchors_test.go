// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// What has changed since may say that it is somebody else's now.
func TestAnchor_deletesASubnamespaceOnlyAsItIsKnown(t *testing.T) {
	t.Parallel()
	sub := &corev1.Namespace{}
	sub.Name, sub.UID, sub.ResourceVersion = "sub", "u", "1"
	sub.Annotations = map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: "parent"}
	var asked client.DeleteOptions
	r := newRig(t, interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			asked.ApplyOptions(opts)
			return apierrors.NewConflict(corev1.Resource("namespaces"), o.GetName(), nil)
		},
	}))
	at := world.Ref{Namespace: "parent", Name: "sub"}
	p := &world.AnchorPlan{Anchor: &hncv1alpha2.SubnamespaceAnchor{}, Within: &corev1.Namespace{}, Subnamespace: sub, State: hncv1alpha2.AnchorOk, DeletesSubnamespace: true}
	p.Anchor.Namespace, p.Anchor.Name, p.Anchor.DeletionTimestamp, p.Anchor.Finalizers = "parent", "sub", going, []string{hncv1alpha2.FinalizerAnchor}
	r.world.anchors = map[world.Ref]*world.AnchorPlan{at: p}
	if err := r.anchor(t.Context(), at); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if only := asked.Preconditions; only == nil || only.UID == nil || *only.UID != "u" || only.ResourceVersion == nil || *only.ResourceVersion != "1" {
		t.Errorf("it is deleted if %+v", only)
	}
}

// A subnamespace can be known before what was written to its anchor.
func TestAnchor_isNotWrittenAgainWhileTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	wrote := 0
	r := newRig(t, interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			wrote++
			o.SetResourceVersion("11")
			return nil
		},
	}))
	at := world.Ref{Namespace: "parent", Name: "sub"}
	p := &world.AnchorPlan{Anchor: &hncv1alpha2.SubnamespaceAnchor{}, Within: &corev1.Namespace{}, Subnamespace: &corev1.Namespace{}, State: hncv1alpha2.AnchorOk}
	p.Anchor.Namespace, p.Anchor.Name, p.Anchor.ResourceVersion = "parent", "sub", "10"
	r.world.anchors = map[world.Ref]*world.AnchorPlan{at: p}
	for _, step := range []struct {
		name   string
		change func()
		want   int
	}{
		{"there is something to say", func() {}, 1},
		{"the watch is behind", func() {}, 1},
		{"it is behind for longer than a watch ever is", func() { r.clock.Step(writeTimeout + time.Second) }, 2},
		{"it has come, and somebody has taken it away again", func() { p.Anchor.ResourceVersion = "12" }, 3},
	} {
		step.change()
		if err := r.anchor(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if wrote != step.want {
			t.Fatalf("%s: %d writes, want %d", step.name, wrote, step.want)
		}
	}
}
