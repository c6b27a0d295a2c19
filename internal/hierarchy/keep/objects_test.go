// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// What a real API server makes of each is shown by TestPropagation_*. In what copies are sent
// only a look at the requests tells: with JSON everything works too, and costs more.
func TestCopies_inWhatTheyAreSent(t *testing.T) {
	t.Parallel()
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf"
	roles := inventory.Kind{Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, Kind: "Role", Namespaced: true}
	as := func(k inventory.Kind, change func(*inventory.Kind)) inventory.Kind { change(&k); return k }
	for _, tt := range []struct {
		name  string
		kind  inventory.Kind
		field string // one that the source has beside its metadata
		want  map[string]string
	}{
		{"one of Kubernetes' own kinds", roles, "rules", map[string]string{"POST": protobuf, "DELETE": protobuf}},
		{"with a field that this client does not know", roles, "unheardOf", map[string]string{"POST": json, "DELETE": protobuf}},
		{"a kind that is a custom resource here", as(roles, func(k *inventory.Kind) { k.CRD = true }), "rules", map[string]string{"POST": json, "DELETE": json}},
		{"a kind of an extension API server", as(roles, func(k *inventory.Kind) { k.Aggregated = true }), "rules", map[string]string{"POST": json, "DELETE": json}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got[r.Method] = r.Header.Get("Content-Type")
				w.Header().Set("Content-Type", json)
				_, _ = w.Write([]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"x","resourceVersion":"1"}}`))
			}))
			t.Cleanup(server.Close)
			r := newRig(t, nil)
			var err error
			if r.objects, err = newObjects(&rest.Config{Host: server.URL}); err != nil {
				t.Fatal(err)
			}
			source := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", tt.field: []any{}, "metadata": map[string]any{"name": "x", "namespace": "a"},
			}}
			at := place("Role", "b", "x")
			p := &world.CopyPlan{
				Kind: tt.kind, From: &world.Source{Object: source}, Verdict: propagate.Verdict{Action: propagate.Copy},
				Have: &world.Copy{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x", UID: "u", ResourceVersion: "1"}},
			}
			for _, do := range []func(context.Context) error{
				func(ctx context.Context) error { return r.create(ctx, at, p) },
				func(ctx context.Context) error { return r.remove(ctx, p) },
			} {
				if err := do(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
