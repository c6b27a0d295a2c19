// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The sync uses each right that it has, so that without it a request is forbidden, and it has no other.
func TestInstall_theSyncUsesEachOfItsRights(t *testing.T) {
	t.Parallel()
	const user = "system:serviceaccount:holdfast-system:holdfast-sync"
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{Level: auditv1.LevelMetadata, Users: []string{user}})
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.New(t, testkit.Options{NotInstalled: true, Cluster: options})
	prepare(t, e)
	newHelm(t, e).mustInstall("sync: {enabled: true}\nworkloads: false\n")
	workload(t, e, manager.Guard)
	ready(t, e)
	workload(t, e, manager.Sync, "--cache-dir", filepath.Join(t.TempDir(), "sources"))
	g := gomega.NewWithT(t)
	live(t, e, g)

	if got := forbidden(t, log); len(got) > 0 {
		t.Errorf("requests that the API server refused:\n%s", strings.Join(got, "\n"))
	}
	granted := rightsOf(t, e)
	g.Expect(granted).NotTo(gomega.BeEmpty())
	used := requestsOf(t, log)
	for _, right := range []string{
		"bind rbac.authorization.k8s.io/roles", "bind rbac.authorization.k8s.io/clusterroles", // for the bindings of both kinds that it makes
		"patch events.k8s.io/events", "patch /events", // what happens again within minutes is counted
	} {
		used.Insert(right)
	}
	if unused := sets.List(granted.Difference(used)); len(unused) > 0 {
		t.Errorf("rights that it does not use:\n%s", strings.Join(unused, "\n"))
	}
}

// live has RootSyncs made, changed and deleted, with all that a sync writes for them.
func live(t *testing.T, e *testkit.Env, g *gomega.WithT) {
	t.Helper()
	repo := gitserver.Start(t, gitserver.Options{}).Repo(t, "r")
	repo.Commit(t, map[string]string{
		"all/ns.yaml":  "{apiVersion: v1, kind: Namespace, metadata: {name: found}}",
		"all/cm.yaml":  "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: found}}",
		"some/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: found}}",
	})
	sum := sha256.Sum256([]byte("ClusterRole/found/edit"))
	e.Apply(t, "", `{apiVersion: v1, kind: Namespace, metadata: {name: found}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: all, namespace: found}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: root-reconciler-some-`+hex.EncodeToString(sum[:5])+`, namespace: found},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]}`)
	sync := func(name, override string) {
		e.Apply(t, "config-management-system", fmt.Sprintf(`{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: %s},
			spec: {sourceFormat: unstructured, git: {repo: %q, dir: %s, branch: main, auth: none, period: 1s}, override: {%s}}}`, name, repo.URL(), name, override))
	}
	sees := func(want string, args ...string) {
		t.Helper()
		g.Eventually(func() string { return e.Kubectl(t, append([]string{"get", "--ignore-not-found"}, args...)...).Stdout }, "180s", "200ms").
			Should(gomega.ContainSubstring(want), strings.Join(args, " "))
	}
	gone := func(args ...string) {
		t.Helper()
		g.Eventually(func() string { return e.Kubectl(t, append([]string{"get", "--ignore-not-found"}, args...)...).Stdout }, "180s", "200ms").
			Should(gomega.BeEmpty(), strings.Join(args, " "))
	}
	sync("all", "")
	sync("some", "roleRefs: [{kind: ClusterRole, name: edit, namespace: found}, {kind: Role, name: all, namespace: found}, {kind: ClusterRole, name: view}]")
	sees("configmap/a\nconfigmap/b\n", "configmaps", "-n", "found", "-o", "name", "-l", "applyset.kubernetes.io/part-of")
	sees("declared rootsync/config-management-system/all", "namespace", "found", "-o", "jsonpath={.metadata.annotations}")
	sync("some", "roleRefs: [{kind: ClusterRole, name: edit, namespace: found}]")
	gone("rolebindings,clusterrolebindings", "-A", "-l", "configsync.gke.io/sync-name=some", "-o", "jsonpath={.items[?(@.roleRef.name!='edit')].metadata.name}")
	for _, name := range []string{"some", "all"} {
		if out := e.Kubectl(t, "delete", "rootsync", name, "-n", "config-management-system", "--timeout=180s"); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		gone("serviceaccount", "root-reconciler-"+name, "-n", "config-management-system", "-o", "name")
	}
	gone("clusterrolebinding", "configsync.gke.io:root-reconciler", "-o", "name")
}

// rightsOf are the verbs of the sync by resource, wherever it has them.
func rightsOf(t *testing.T, e *testkit.Env) sets.Set[string] {
	t.Helper()
	var rules []rbacv1.PolicyRule
	var all rbacv1.ClusterRole
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-sync"}, &all); err != nil {
		t.Fatal(err)
	}
	rules = append(rules, all.Rules...)
	for _, namespace := range []string{"config-management-system", "holdfast-system"} {
		var local rbacv1.Role
		if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "holdfast-sync"}, &local); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, local.Rules...)
	}
	out := sets.New[string]()
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					out.Insert(verb + " " + group + "/" + resource)
				}
			}
		}
	}
	return out
}

// requestsOf are the rights that were needed for what the sync has asked for itself, and to act as others.
func requestsOf(t *testing.T, log *auditlog.Log) sets.Set[string] {
	t.Helper()
	events, err := log.Events()
	if err != nil {
		t.Fatal(err)
	}
	out := sets.New[string]()
	for _, e := range events {
		if e.ImpersonatedUser != nil {
			out.Insert("impersonate /serviceaccounts")
			continue
		}
		if e.ObjectRef == nil {
			continue
		}
		resource := e.ObjectRef.APIGroup + "/" + e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		out.Insert(e.Verb + " " + resource)
		if slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			out.Insert(e.Verb + " */*")
		}
		if e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated { // an apply that creates needs both
			out.Insert("create " + resource)
		}
	}
	return out
}
