// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const role = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: view, namespace: shop, labels: {team: a}}}`

func TestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, object, text, id string
	}{
		{"of a group", role, "Role.rbac.authorization.k8s.io, shop/view", "rbac.authorization.k8s.io_role_shop_view"},
		{"of the core group", `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: a}}`, "ConfigMap, a/b", "_configmap_a_b"},
		{"in no namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, "Namespace, /a", "_namespace_a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := IDOf(parse(t, tt.object))
			if id.String() != tt.text || id.ResourceID() != tt.id {
				t.Errorf("got %q and %q, want %q and %q", id.String(), id.ResourceID(), tt.text, tt.id)
			}
		})
	}
}

func TestSync_names(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sync                           Sync
		manager, reconciler, inventory string
	}{
		{"root-sync", ":root", "root-reconciler", "config-management-system_root-sync"},
		{"a", ":root_a", "root-reconciler-a", "config-management-system_a"},
	}
	for _, tt := range tests {
		if tt.sync.Manager() != tt.manager || tt.sync.Reconciler() != tt.reconciler || tt.sync.Inventory() != tt.inventory {
			t.Errorf("%s: got %s, %s, %s", tt.sync, tt.sync.Manager(), tt.sync.Reconciler(), tt.sync.Inventory())
		}
		if back, ok := SyncOf(tt.manager); !ok || back != tt.sync {
			t.Errorf("%s: back to %q, %t", tt.manager, back, ok)
		}
	}
	for _, manager := range []string{"", "shop", "shop_a", ":root_", "root"} {
		if sync, ok := SyncOf(manager); ok {
			t.Errorf("%q is taken for the RootSync %q", manager, sync)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	in := parse(t, role)
	before := in.DeepCopy()
	got := Stamp(Declared{Object: in, Path: "shop/role.yaml"}, "a", Version{Commit: "c0ffee", Context: `{"repo":"r"}`})
	want := parse(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: view
  namespace: shop
  labels:
    team: a
    app.kubernetes.io/managed-by: configmanagement.gke.io
    applyset.kubernetes.io/part-of: applyset-woJpkMNi8G1O4qFfM5Jtd-FXLENqzs5g2JTAxMYDXUk-v1
    configsync.gke.io/declared-version: v1
  annotations:
    configmanagement.gke.io/managed: enabled
    configmanagement.gke.io/source-path: shop/role.yaml
    configmanagement.gke.io/token: c0ffee
    configsync.gke.io/git-context: '{"repo":"r"}'
    configsync.gke.io/manager: :root_a
    configsync.gke.io/resource-id: rbac.authorization.k8s.io_role_shop_view
    config.k8s.io/owning-inventory: config-management-system_a
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("what was declared has changed: %s", diff)
	}
	implicit := Stamp(Declared{Object: parse(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)}, "a", Version{})
	if implicit.GetLabels()[LabelDeclaredVersion] != "" || implicit.GetAnnotations()[AnnotationSourcePath] != "" {
		t.Error("an implicit namespace says that somebody declared it")
	}
	for key := range got.GetAnnotations() {
		if !IsStamp(false, key) {
			t.Errorf("%s is not known as written by a sync", key)
		}
	}
	if IsStamp(true, "team") || IsStamp(false, "team") {
		t.Error("a label of others is taken for written by a sync")
	}
}

func TestManaged(t *testing.T) {
	t.Parallel()
	id := IDOf(parse(t, role))
	for want, annotations := range map[string]string{
		":root_a": `{configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: rbac.authorization.k8s.io_role_shop_view, configsync.gke.io/manager: ":root_a"}`,
		"":        `{configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: apps_replicaset_shop_view, configsync.gke.io/manager: ":root_a"}`,
	} {
		o := parse(t, `{metadata: {annotations: `+annotations+`}}`)
		if got := Managed(o, id); got != want {
			t.Errorf("%s: got %q, want %q", annotations, got, want)
		}
	}
	if !OfNamespaceReconciler("shop") || OfNamespaceReconciler(":root") || OfNamespaceReconciler("") {
		t.Error("a RepoSync is not told from a RootSync")
	}
}
