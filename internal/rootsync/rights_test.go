// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

func TestRights_aRootSyncHasThoseOfItsRolesAndNoOthers(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(ns("n")))
	r.commit("a", "x.yaml", cm("n", "one", "1")+"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"{high}\"}\nrules: []\n")
	r.sync("a", "  override: {roleRefs: [{kind: ClusterRole, name: edit, namespace: "+r.name("n")+"}]}")
	r.says("a", `KNV2013: failed to apply ClusterRole.rbac.authorization.k8s.io, /{high}`)
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

// The process acts as the accounts of RootSyncs, in their namespace, and as nobody else: what
// it applies it may not write itself.
func TestRights_theProcessActsAsAccountsOfRootSyncsAlone(t *testing.T) {
	t.Parallel()
	r := shared(t)
	mine := "--as=system:serviceaccount:" + manager.Namespace + ":holdfast-sync"
	for _, tt := range []struct{ want, question string }{
		{"yes", "impersonate serviceaccounts -n config-management-system"},
		{"no", "impersonate serviceaccounts -n kube-system"},
		{"no", "impersonate serviceaccounts -n " + manager.Namespace},
		{"no", "impersonate serviceaccounts -A"},
		{"no", "impersonate users"},
		{"no", "impersonate groups"},
		{"no", "impersonate userextras --subresource=scopes"},
		{"no", "escalate clusterroles"},
		{"no", "create configmaps -n default"},
		{"no", "delete namespaces"},
		{"no", "create namespaces"},
		{"no", "delete pods -n default"},
		{"no", "patch deployments -n default"},
		{"no", "delete rootsyncs -n config-management-system"},
		{"no", "create clusterroles"},
		{"no", "create serviceaccounts --subresource=token -n config-management-system"},
	} {
		out := r.Kubectl(t, append([]string{"auth", "can-i", mine}, strings.Fields(tt.question)...)...)
		if got := strings.TrimSpace(out.Stdout); got != tt.want {
			t.Errorf("can it %s? %q, and not %q; %s", tt.question, got, tt.want, out.Stderr)
		}
	}
}

// mustNameRoles has the configuration refuse RootSyncs that would be cluster-admin.
func (l *ledger) mustNameRoles() {
	kept := l.syncOf("ra", ns("ra")+cm("ra", "one", "1"))
	file := filepath.Join(l.t.TempDir(), "config.yaml")
	text := "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nrootSync: {requireRoleRefs: true, allowFileSources: true}\n"
	l.Expect(os.WriteFile(file, []byte(text), 0o600)).To(gomega.Succeed())
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless, "--config", file)
	const refused = "stalled: KNV1061: RootSyncs must name their roles in spec.override.roleRefs here: without any it would be cluster-admin, which the configuration of Holdfast forbids by rootSync.requireRoleRefs"
	commit := l.commit("rb", "x.yaml", cm("ra", "two", "1"))
	l.sync("rb")
	for _, short := range []string{"ra", "rb"} {
		l.says(short, refused)
		account := "--as=system:serviceaccount:" + object.SyncNamespace + ":" + object.Sync(l.name(short)).Reconciler()
		l.Eventually(func() string { return l.Kubectl(l.t, "auth", "can-i", "*", "*", account).Stdout }, within, "500ms").Should(gomega.HavePrefix("no"))
	}
	l.manager("cm", "ra/one", "ra")
	l.manager("cm", "ra/two", "-")
	l.spec("rb", `{"override":{"roleRefs":[{"kind":"ClusterRole","name":"edit","namespace":"{ra}"}]}}`)
	l.synced("rb", commit)
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.synced("ra", kept)
}
