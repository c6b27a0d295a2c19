// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func testRows() []row {
	old := func(o *metav1.PartialObjectMetadata) { o.CreationTimestamp = metav1.Time{Time: created} }
	web := newTarget(configMapKind, labelled(strictLabel, "Always", old, byController))
	shop := newTarget(namespacesKind, labelled(karmadaLabel, "", old))
	shop.meta.Name, shop.meta.Namespace = "shop", ""
	return []row{
		{target: shop, label: karmadaLabel, effect: effectEmpty},
		{target: web, label: strictLabel, value: "Always", effect: effectProtected},
		{target: web, label: kruiseLabel, value: "Cascading", effect: effectUnknown},
	}
}

func TestPrintProtected(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		allNamespaces, wide bool
		want                string
	}{
		{
			name: "one namespace",
			want: `KIND/NAME         LABEL                                            VALUE       EFFECT
namespaces/shop   resourcetemplate.karmada.io/deletion-protected   <none>      not protected: empty
configmaps/web    holdfast.dev/deletion-protected                  Always      protected
configmaps/web    policy.kruise.io/delete-protection               Cascading   not protected: unknown value
`,
		},
		{
			name: "all namespaces, wide", allNamespaces: true, wide: true,
			want: `NAMESPACE   KIND/NAME         LABEL                                            VALUE       EFFECT                         OWNER            AGE
<none>      namespaces/shop   resourcetemplate.karmada.io/deletion-protected   <none>      not protected: empty           <none>           3h
shop        configmaps/web    holdfast.dev/deletion-protected                  Always      protected                      replicaset/web   3h
shop        configmaps/web    policy.kruise.io/delete-protection               Cascading   not protected: unknown value   replicaset/web   3h
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, out, _ := testStreams()
			newClients(streams).printTable(testRows(), tt.allNamespaces, tt.wide, created.Add(3*time.Hour))
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPrintProtected_structured(t *testing.T) {
	t.Parallel()
	streams, out, _ := testStreams()
	err := newClients(streams).printProtected(&protectedOptions{output: "yaml"}, "shop", testRows()[1:2], []error{errors.New("secrets were left out")})
	if err != nil {
		t.Fatal(err)
	}
	// The structure is part of the interface.
	const want = `apiVersion: cli.holdfast.dev/v1alpha1
items:
- created: "2026-11-21T10:00:00Z"
  effect: protected
  kind: ConfigMap
  label: holdfast.dev/deletion-protected
  name: web
  namespace: shop
  owner: replicaset/web
  protected: true
  resource: configmaps
  uid: "1"
  value: Always
  version: v1
kind: ProtectedList
problems:
- secrets were left out
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPrintProtected_names(t *testing.T) {
	t.Parallel()
	streams, out, _ := testStreams()
	if err := newClients(streams).printProtected(&protectedOptions{output: "name"}, "shop", testRows(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("namespace/shop\nconfigmap/web\n", out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
