// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What is said offline of a kind is what a real API server says of it.
func TestBuiltinScopes(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	client, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	type scope struct{ namespaced, known bool }
	got, want := map[string]scope{}, map[string]scope{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			// What cannot be patched cannot be declared.
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "patch") {
				gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
				namespaced, known := parse.BuiltinScopes().Namespaced(gk)
				got[gk.String()] = scope{namespaced, known}
				want[gk.String()] = scope{r.Namespaced, true}
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scope{})); diff != "" {
		t.Error(diff)
	}
}
