// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// TestSync_andServiceAccounts tests "kubectl holdfast sync" and "kubectl holdfast serviceaccount". Neither is reconciled:
// no workload "sync" runs and the scripts write the status of RootSyncs, so that they can produce each state;
// service accounts are off, and their scripts turn them on in one namespace.
func TestSync_andServiceAccounts(t *testing.T) {
	t.Parallel()
	env := testkit.New(t, testkit.Options{Manifests: []string{"config/crd/configsync"}})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.SyncNamespace}}
	if err := env.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Run("status takes one request, and one for what is on its way", func(t *testing.T) { testRequests(t, env) })
	t.Run("what is built in is so in a cluster too", func(t *testing.T) { testBuiltin(t, env) })
	if err := manager.Apply(t.Context(), env.Cluster, "internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) {
		for _, dir := range []string{"testdata/sync", "testdata/serviceaccount"} {
			testscript.Run(t, params(t, env, testscript.Params{Dir: dir}))
		}
	})
	alone(t, env, "testdata/sync/alone/*.txtar")           // they are about all RootSyncs of the cluster
	alone(t, env, "testdata/serviceaccount/alone/*.txtar") // they change what all others see
	t.Run("whatever there is to change, plan only reads", func(t *testing.T) { testPlanReads(t, env) })
}
