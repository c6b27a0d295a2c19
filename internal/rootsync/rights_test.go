// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	account := serviceAccount(object.SyncNamespace, object.Sync(r.name("a")).Reconciler())
	r.Expect(r.may(account, "create", "clusterroles.rbac.authorization.k8s.io", "")).To(gomega.BeFalse())
	r.Expect(r.may(account, "create", "configmaps", r.name("n"))).To(gomega.BeTrue())

	// Other roles take effect, and those before are taken away.
	r.spec("a", `{"override":{"roleRefs":[{"kind":"ClusterRole","name":"cluster-admin"}]}}`)
	r.Eventually(func() string { return r.status("a") }, within, often).Should(gomega.HavePrefix("synced "))
	r.Eventually(func() ([]rbacv1.RoleBinding, error) {
		var bindings rbacv1.RoleBindingList
		err := r.Client.List(t.Context(), &bindings, client.InNamespace(r.name("n")))
		return bindings.Items, err
	}, within, often).Should(gomega.BeEmpty(), "bindings that no RootSync wants")
}

// The process acts as the accounts of RootSyncs, in their namespace, and as nobody else: what
// it applies it may not write itself.
func TestRights_theProcessActsAsAccountsOfRootSyncsAlone(t *testing.T) {
	t.Parallel()
	r := shared(t)
	mine := serviceAccount(manager.Namespace, "holdfast-sync")
	for _, tt := range []struct {
		want                      bool
		verb, resource, namespace string
	}{
		{true, "impersonate", "serviceaccounts", object.SyncNamespace},
		{false, "impersonate", "serviceaccounts", "kube-system"},
		{false, "impersonate", "serviceaccounts", manager.Namespace},
		{false, "impersonate", "serviceaccounts", ""},
		{false, "impersonate", "users", ""},
		{false, "impersonate", "groups", ""},
		{false, "impersonate", "userextras/scopes", ""},
		{false, "impersonate", "userextras.authentication.k8s.io/scopes", ""},
		{false, "escalate", "clusterroles.rbac.authorization.k8s.io", ""},
		{false, "create", "configmaps", "default"},
		{false, "delete", "namespaces", ""},
		{false, "create", "namespaces", ""},
		{false, "delete", "pods", "default"},
		{false, "patch", "deployments.apps", "default"},
		{false, "delete", "rootsyncs.configsync.gke.io", object.SyncNamespace},
		{false, "create", "clusterroles.rbac.authorization.k8s.io", ""},
		{false, "create", "serviceaccounts/token", object.SyncNamespace},
	} {
		if got := r.may(mine, tt.verb, tt.resource, tt.namespace); got != tt.want {
			t.Errorf("may it %s %s in %q? %t, and not %t", tt.verb, tt.resource, tt.namespace, got, tt.want)
		}
	}
}

func serviceAccount(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// may asks the API server whether a user may do something to "resource.group/subresource", as
// "kubectl auth can-i" does, which ends the process that it runs in.
func (r *rig) may(user, verb, what, namespace string) bool {
	r.t.Helper()
	what, subresource, _ := strings.Cut(what, "/")
	of := schema.ParseGroupResource(what)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: verb, Group: of.Group, Resource: of.Resource, Subresource: subresource,
	}}}
	r.Expect(r.As(r.t, user).Create(r.t.Context(), review)).To(gomega.Succeed())
	return review.Status.Allowed
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
		account := serviceAccount(object.SyncNamespace, object.Sync(l.name(short)).Reconciler())
		l.Eventually(func() bool { return l.may(account, "*", "*", "") }, within, "500ms").Should(gomega.BeFalse())
	}
	l.manager("cm", "ra/one", "ra")
	l.manager("cm", "ra/two", "-")
	l.spec("rb", `{"override":{"roleRefs":[{"kind":"ClusterRole","name":"edit","namespace":"{ra}"}]}}`)
	l.synced("rb", commit)
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.synced("ra", kept)
}

// reviews are the questions of what an account may do.
func (l *ledger) reviews() (n int) {
	l.t.Helper()
	events, err := l.log.Events()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range events {
		if e.ObjectRef != nil && e.ObjectRef.Resource == "selfsubjectaccessreviews" {
			n++
		}
	}
	return n
}

// reviewed has a RootSync with roles apply a thousand objects, of which another one declares a few later.
func (l *ledger) reviewed() {
	const objects, handful = 1000, 8
	all := "  override: {roleRefs: [{kind: ClusterRole, name: cluster-admin}]}"
	before := l.reviews()
	l.Apply(l.t, "", l.long(ns("rb")))
	older := l.syncOf("rv", ns("rv")+ns("rb")+many("rv", objects, "m", "1"), all)
	if n := l.reviews() - before; n > handful {
		l.t.Errorf("to apply %d objects that nobody else declares it has asked %d times what it may do", objects, n)
	}
	before = l.reviews()
	l.commit("rw", "x.yaml", many("rv", objects/2, "m", "2")+cm("rv", "own", "1"))
	l.sync("rw", all)
	l.says("rw", "KNV1060: ")
	l.value("rv/own", "1")
	// Once for all ConfigMaps of the namespace, and again while the binding is new and the objects are contested.
	if n := l.reviews() - before; n > 5*handful {
		l.t.Errorf("about %d objects that both declare they have asked %d times", objects/2, n)
	}
	l.deleted("rw")
	l.synced("rv", older)
	l.annotate("rv", foreground)
	l.deleted("rv")
}
