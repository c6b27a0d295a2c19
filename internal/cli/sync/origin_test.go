// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	const (
		role   = "Role.rbac.authorization.k8s.io a/view"
		id     = `configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: rbac.authorization.k8s.io_role_a_view, `
		marks  = id + `configsync.gke.io/manager: ":root_shop", configmanagement.gke.io/token: C1, configsync.gke.io/git-context: '{"repo":"https://h/r","branch":"main","rev":"HEAD"}', `
		file   = `configmanagement.gke.io/source-path: prod/role.yaml`
		status = `observedGeneration: 3, lastSyncedCommit: C1, source: {commit: C1}, sync: {commit: C1, lastUpdate: "2026-11-21T11:58:00Z"}, conditions: [{type: Syncing, status: "False"}]`
		later  = `observedGeneration: 3, lastSyncedCommit: C2, source: {commit: C2}, sync: {commit: C2}, conditions: [{type: Syncing, status: "False"}]`
	)
	tests := []struct {
		name string
		// meta is more of the metadata of the object; sync is the status of RootSync shop, if there is one.
		meta, sync, namespace string
		isNamespace           bool
		want                  string
	}{
		{name: "nobody keeps it", want: role + ` is kept by no RootSync.`},
		{
			name: "a controller has made it", meta: `ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u}]`,
			want: role + ` is kept by no RootSync. It belongs to Deployment.apps a/web: trace that.`,
		},
		{
			name: "a file declares it", meta: `annotations: {` + marks + file + `}`, sync: status, namespace: `{name: a}`,
			want: role + ` is kept by RootSync shop as a file of its source declares it.
  file:        prod/role.yaml
  repository:  https://h/r, main
  commit:      ` + c1 + `
  RootSync:    shop, Synced 1111111, 2m ago
  namespace:   a: nobody claims it`,
		},
		{
			name: "it was written for a commit before", meta: `annotations: {` + marks + file + `}`, sync: later,
			want: role + ` is kept by RootSync shop as a file of its source declares it.
  file:        prod/role.yaml
  repository:  https://h/r, main
  commit:      ` + c1 + `; it has not been written since, and 2222222 is synced
  RootSync:    shop, Synced 2222222`,
		},
		{
			name: "its RootSync is gone", meta: `annotations: {` + marks + file + `}`,
			want: role + ` is kept by RootSync shop as a file of its source declares it.
  file:        prod/role.yaml
  repository:  https://h/r, main
  commit:      ` + c1 + `
  RootSync:    there is none named shop: nobody keeps the object`,
		},
		{
			name: "its annotations are those of another object", meta: `annotations: {` + strings.Replace(marks, "role_a_view", "role_a_other", 1) + file + `},
				ownerReferences: [{apiVersion: v1, kind: Service, name: web, uid: u}]`, sync: status,
			want: role + ` is kept by no RootSync: it has inherited its annotations from another object (rbac.authorization.k8s.io_role_a_other). It belongs to Service a/web: trace that.
  RootSync:    shop, Synced 1111111, 2m ago`,
		},
		{
			name: "a RepoSync keeps it", meta: `annotations: {` + id + `configsync.gke.io/manager: a_repo, ` + file + `}`,
			want: role + ` is kept by a RepoSync of Config Sync (a_repo), and by no RootSync.
  file:        prod/role.yaml`,
		},
		{
			name: "it is not to be kept", meta: `annotations: {configmanagement.gke.io/managed: disabled}`,
			want: role + ` is kept by no RootSync: its annotation configmanagement.gke.io/managed says "disabled".`,
		},
		{
			name: "only some of the annotations are there", meta: `annotations: {configmanagement.gke.io/managed: enabled}`,
			want: role + ` is kept by no RootSync: it has some annotations of one, but not configmanagement.gke.io/managed=enabled with its own configsync.gke.io/resource-id.`,
		},
		{
			name: "a namespace that nobody declares", isNamespace: true, sync: status,
			meta: `annotations: {configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: _namespace_view, configsync.gke.io/manager: ":root_shop"}`,
			want: `Namespace view was made by RootSync shop along the way, for what is in it: no file declares it.
  RootSync:    shop, Synced 1111111, 2m ago
  namespace:   view: rootsync/config-management-system/shop owns it (implicit)`,
		},
		{
			name: "others own fields of it, and the claims of its namespace cannot be read", namespace: `{name: a, uid: u, annotations: {holdfast.dev/claims: "of u, x"}}`,
			meta: `managedFields: [
				{manager: configsync.gke.io, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:rules": {}}},
				{manager: kubectl-edit, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}, "f:c": {}, "f:d": {}}}}},
				{manager: controller, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:phase": {}}}}]`,
			want: role + ` is kept by no RootSync.
  namespace:   a: nobody can tell whose namespace a is: its annotation holdfast.dev/claims cannot be read: claim 1, "x": a claim has three words: how, who and since when; it is left as it is: mend it or, to have it written anew, take it away, which needs the verb "unprotect" on resourcedeletionprotections.holdfast.dev cluster-wide
  fields of:   controller (Update of status): status.phase
               kubectl-edit (Update): metadata.labels (4)`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &facts{id: object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: "a", Name: "view"}}
			f.meta = read[metav1.PartialObjectMetadata](t, `metadata: {name: view, namespace: a, `+tt.meta+`}`)
			if tt.isNamespace {
				f.id, f.meta.Namespace, f.namespace = object.NamespaceID("view"), "", f.meta
			}
			if tt.namespace != "" {
				f.namespace = read[metav1.PartialObjectMetadata](t, `metadata: `+tt.namespace)
			}
			if tt.sync != "" {
				f.sync = shop(t, "", tt.sync)
			}
			if diff := cmp.Diff(tt.want, strings.Join(originOf(f).text(noon), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestContextOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, annotation, repository, ref string }{
		{"a branch", `{"repo":"https://h/r","branch":"main","rev":"HEAD"}`, "https://h/r", "main"},
		{"a revision", `{"repo":"https://h/r","branch":"main","rev":"v1"}`, "https://h/r", "v1"},
		{"a repository with a token", `{"repo":"https://t@h/r"}`, "https://h/r", ""},
		{"an image", `{"image":"h/i:v1","dir":"a"}`, "h/i:v1", ""},
		{"a chart", `{"repo":"https://h/c","chart":"x","version":"1"}`, "https://h/c x", "1"},
		{"what cannot be read", `{`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repository, ref := contextOf(tt.annotation)
			if diff := cmp.Diff([]string{tt.repository, tt.ref}, []string{repository, ref}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
