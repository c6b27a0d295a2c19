// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/cli/builtin"
	plugin "github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// syncRequests are what a command asks the API server.
func syncRequests(t *testing.T, env *testkit.Env, args ...string) []string {
	t.Helper()
	var out []string
	for _, r := range requestsOf(t, env, plugin.Command, args...) {
		out = append(out, r.Method+" "+r.URL.Path)
	}
	return out
}

// However many RootSyncs there are, how they are doing takes one request, and another
// for how far they have come if one is on its way.
func testRequests(t *testing.T, env *testkit.Env) {
	t.Helper()
	const prefix = "GET /apis/configsync.gke.io/v1beta1/namespaces/config-management-system/rootsyncs"
	const inventories = "GET /apis/kpt.dev/v1alpha1/namespaces/config-management-system/resourcegroups"
	if diff := cmp.Diff([]string{prefix}, syncRequests(t, env, "status")); diff != "" {
		t.Errorf("with none (-want +got)\n%s", diff)
	}
	rs := &configsyncv1beta1.RootSync{}
	rs.Namespace, rs.Name = object.SyncNamespace, "busy"
	if err := env.Client.Create(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Client.Delete(context.WithoutCancel(t.Context()), rs); err != nil {
			t.Error(err)
		}
	})
	rs.Status.ObservedGeneration = rs.Generation
	rs.Status.Conditions = []configsyncv1beta1.Condition{{Type: configsyncv1beta1.ConditionSyncing, Status: metav1.ConditionTrue}}
	if err := env.Client.Status().Update(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{prefix, inventories}, syncRequests(t, env, "status", "busy")); diff != "" {
		t.Errorf("with one on its way (-want +got)\n%s", diff)
	}
}

func testBuiltin(t *testing.T, env *testkit.Env) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			namespaced, known := builtin.Scopes{}.Namespaced(schema.GroupKind{Group: gv.Group, Kind: r.Kind})
			if !known || namespaced != r.Namespaced {
				t.Errorf("%s %s: known: %v, in namespaces: %v, and really: %v", gv, r.Kind, known, namespaced, r.Namespaced)
			}
			found++
		}
	}
	if found < 50 {
		t.Errorf("the cluster serves %d kinds only", found)
	}
}
