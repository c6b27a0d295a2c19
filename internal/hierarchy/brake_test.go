// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// withTrees is a cluster of the test's own in which trees can be kept.
func withTrees(t testing.TB) *testkit.Env {
	t.Helper()
	e := testkit.New(t, testkit.Options{NoManager: true})
	for _, path := range []string{"config/crd/hnc", "config/rbac/hierarchy.yaml"} {
		if _, err := manager.Kubectl(t.Context(), e.Cluster, "apply", "--server-side", "-f", path); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

var consent = regexp.MustCompile(`kubectl (annotate hncconfiguration config --overwrite \S+=\S+)\. `)

// Copies that would go because half of a tree has moved wait until somebody
// consents, also across a restart; those whose source somebody deletes do not.
func TestBrake_holdsCopiesThatNobodyDeleted(t *testing.T) {
	t.Parallel()
	e := withTrees(t)
	args := configurationOf(t, "hierarchy: {mode: Enforce, brake: {percent: 10, minimum: 3}}")
	replica := e.StartManager(t, args...)
	r := rigIn(t, e, e.Namespace(t))
	copies := func() int {
		var roles rbacv1.RoleList
		if err := e.Client.List(t.Context(), &roles, client.HasLabels{hncv1alpha2.LabelInheritedFrom}); err != nil {
			t.Fatal(err)
		}
		return len(roles.Items)
	}
	held := func() string {
		if c := r.condition(hncv1alpha2.ConditionOutOfSync, "CopiesHeld"); c != nil {
			return c.Message
		}
		return ""
	}
	for _, ns := range []string{"top", "team", "one", "two"} {
		e.Apply(t, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+r.name(ns)+"}}")
	}
	parent := func(of, is string) {
		t.Helper()
		body := fmt.Sprintf("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: %s}, spec: {parent: %q}}", r.name(of), r.name(is))
		e.Apply(t, "", body)
	}
	parent("team", "top")
	parent("one", "team")
	parent("two", "team")
	for i := range 5 {
		e.Apply(t, r.name("top"), fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r%d}, rules: []}", i))
	}
	r.Eventually(copies, "180s", "100ms").Should(gomega.Equal(15))

	// Somebody deletes a source: its copies go.
	e.Kubectl(t, "delete", "role", "r0", "-n", r.name("top"))
	r.Eventually(copies, "180s", "100ms").Should(gomega.Equal(12))

	// The team leaves the tree: all of its copies would go.
	parent("team", "")
	r.Eventually(held, "180s", "100ms").Should(gomega.ContainSubstring("12 of 12 copies would go now"))
	word := held()
	if err := replica.Stop(); err != nil {
		t.Fatal(err)
	}
	e.StartManager(t, args...)
	r.Consistently(copies, "5s", "500ms").Should(gomega.Equal(12))
	if now := held(); now != word {
		t.Errorf("after a restart people are asked anew: %q, and before %q", now, word)
	}

	// What the condition says lets them go.
	command := consent.FindStringSubmatch(word)
	if command == nil {
		t.Fatalf("no command in %q", word)
	}
	fields := regexp.MustCompile(` `).Split(command[1], -1)
	e.Kubectl(t, fields...)
	r.Eventually(copies, "180s", "100ms").Should(gomega.BeZero())
	r.Eventually(held, "180s", "100ms").Should(gomega.BeEmpty())
}
