// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package occupants

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func workload(apiVersion, kind, namespace, name string, change func(*metav1.ObjectMeta)) runtime.Object {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if change != nil {
		change(&o.ObjectMeta)
	}
	return o
}

func client(t *testing.T, objects ...runtime.Object) *fake.FakeMetadataClient {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewSimpleMetadataClient(scheme, objects...)
}

func TestOf(t *testing.T) {
	t.Parallel()
	c := client(t,
		workload("apps/v1", "Deployment", "n", "web", nil),
		workload("apps/v1", "Deployment", "n", "synced", func(o *metav1.ObjectMeta) { o.Annotations = map[string]string{object.AnnotationManager: ":root"} }),
		workload("apps/v1", "ReplicaSet", "n", "web-1", func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{{Name: "web"}} }),
		workload("v1", "Pod", "n", "going", func(o *metav1.ObjectMeta) { o.DeletionTimestamp = &metav1.Time{} }),
		workload("v1", "Pod", "n", "debug", nil),
		workload("batch/v1", "Job", "n", "once", nil),
		workload("v1", "Pod", "other", "elsewhere", nil),
		workload("v1", "ConfigMap", "n", "no-workload", nil),
	)
	got, err := Of(t.Context(), c, "n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Deployment web", "Job once", "Pod debug"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, err := Of(t.Context(), c, "empty"); err != nil || got != nil {
		t.Errorf("an empty namespace: %v, %v", got, err)
	}
}

// Who cannot look knows nothing, and must not take it for nothing.
func TestOf_whatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := client(t)
	no := errors.New("no")
	c.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, no })
	if _, err := Of(t.Context(), c, "n"); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}
