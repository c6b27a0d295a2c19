// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestRights_aRootSyncHasThoseOfItsRolesAndNoOthers(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(ns("n")))
	r.commit("a", "x.yaml", cm("n", "one", "1")+"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"{high}\"}\nrules: []\n")
	r.sync("a", "  override: {roleRefs: [{kind: ClusterRole, name: edit, namespace: "+r.name("n")+"}]}")
	r.says("a", `failed to apply ClusterRole.rbac.authorization.k8s.io, /{high}`)
	r.manager("cm", "n/one", "a")
	account := "system:serviceaccount:" + object.SyncNamespace + ":" + object.Sync(r.name("a")).Reconciler()
	r.Expect(r.Kubectl(t, "auth", "can-i", "create", "clusterroles", "--as", account).Stdout).To(gomega.ContainSubstring("no"))
	r.Expect(r.Kubectl(t, "auth", "can-i", "create", "configmaps", "-n", r.name("n"), "--as", account).Stdout).To(gomega.ContainSubstring("yes"))

	// Other roles take effect, and those before are taken away.
	r.Expect(r.Kubectl(t, "patch", "rootsync", r.name("a"), "-n", object.SyncNamespace, "--type=merge", "-p", `{"spec":{"override":{"roleRefs":[{"kind":"ClusterRole","name":"cluster-admin"}]}}}`).Code).To(gomega.Equal(0))
	r.Eventually(func() string { return r.status("a") }, within, often).Should(gomega.HavePrefix("synced "))
	if got := r.Kubectl(t, "get", "rolebindings", "-n", r.name("n"), "-o", "name").Stdout; got != "" {
		t.Errorf("bindings that nobody asks for: %s", got)
	}
}
