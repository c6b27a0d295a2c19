// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func metadataOf(t *testing.T, u *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	t.Helper()
	out := &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": u.Object["metadata"]}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

const managed = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: u
  resourceVersion: "10"
  generation: 1
  labels: {app.kubernetes.io/managed-by: configmanagement.gke.io, applyset.kubernetes.io/part-of: set, a: "<b>"}
  annotations:
    configmanagement.gke.io/managed: enabled
    configsync.gke.io/manager: :root_shop
    configsync.gke.io/resource-id: apps_deployment_shop_web
    configmanagement.gke.io/token: c1
    configsync.gke.io/git-context: "{}"
    config.k8s.io/owning-inventory: config-management-system_shop
    client.lifecycle.config.k8s.io/deletion: detach
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: o}]
  managedFields:
  - {manager: kubectl, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: configsync.gke.io, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:x": {}}}}
  - {manager: configsync.gke.io, operation: Apply, subresource: status, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}
  - {manager: configsync.gke.io, operation: Apply, apiVersion: apps/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}, 'k:{"name":"<x>"}': {}}}}
spec: {replicas: 1}
`

var web = object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}

func TestOf(t *testing.T) {
	t.Parallel()
	whole := parse(t, managed)
	got := Of(web, whole)
	want := &Seen{
		UID: "u", ResourceVersion: "10", Generation: 1, Manager: ":root_shop", Named: ":root_shop", ApplySet: "set", Inventory: "config-management-system_shop",
		Version: object.Version{Commit: "c1", Context: "{}"}, Stamped: true, Detached: true, HasOwner: true, Status: status.InProgressStatus,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Seen{}, "Owned", "Labels", "Stamps", "Message")); diff != "" {
		t.Error(diff)
	}
	if got.Owned == "" || got.Labels == "" || got.Message == "" {
		t.Errorf("something is missing: %+v", got)
	}
	if diff := cmp.Diff(got, Of(web, metadataOf(t, whole)), cmpopts.IgnoreFields(Seen{}, "Status", "Message")); diff != "" {
		t.Errorf("metadata alone tells something else (-whole +metadata):\n%s", diff)
	}
}

func TestOf_status(t *testing.T) {
	t.Parallel()
	cm := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}")
	id := object.IDOf(cm)
	if got := Of(id, cm); !got.Current() || got.Stamped {
		t.Errorf("a ConfigMap: got %+v", got)
	}
	if got := Of(id, metadataOf(t, cm)); got.Status != "" {
		t.Errorf("by its metadata: got %s", got.Status)
	}
	cm.SetDeletionTimestamp(new(metav1.Now()))
	if got := Of(id, metadataOf(t, cm)); got.Status != status.TerminatingStatus {
		t.Errorf("going, by its metadata: got %s", got.Status)
	}
}

func TestOf_whatInheritedAnnotationsIsNotManaged(t *testing.T) {
	t.Parallel()
	id := web
	id.Name = "web-7"
	if got := Of(id, parse(t, managed)); got.Manager != "" || got.Named != ":root_shop" {
		t.Errorf("got manager %q, named %q", got.Manager, got.Named)
	}
}

func TestOwned(t *testing.T) {
	t.Parallel()
	base := Owned(parse(t, managed))
	tests := []struct {
		name   string
		change func(entry map[string]any)
		same   bool
	}{
		{"as it was", func(map[string]any) {}, true},
		{"a value that somebody has applied as the same field manager", func(e map[string]any) { e["time"] = "2027-01-01T00:00:00Z" }, false},
		{"no time", func(e map[string]any) { delete(e, "time") }, false},
		{"a field of which another has become the owner", func(e map[string]any) { e["fieldsV1"] = map[string]any{"f:spec": map[string]any{}} }, false},
		{"an entry that is gone", func(e map[string]any) { e["manager"] = "other" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := parse(t, managed)
			entries, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
			tt.change(entries[3].(map[string]any))
			_ = unstructured.SetNestedSlice(u.Object, entries, "metadata", "managedFields")
			if got := Owned(u); (got == base) != tt.same {
				t.Errorf("same: got %t, want %t", got == base, tt.same)
			}
			if Owned(u) != Owned(metadataOf(t, u)) {
				t.Error("metadata alone tells something else")
			}
		})
	}
}

func TestSeen_Older(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seen, than string
		want       bool
	}{{"9", "10", true}, {"10", "10", false}, {"11", "9", false}, {"x", "9", false}, {"9", "", false}} {
		if got := (&Seen{ResourceVersion: tt.seen}).Older(tt.than); got != tt.want {
			t.Errorf("%s older than %s: got %t", tt.seen, tt.than, got)
		}
	}
}
