// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// One scope bounds all features, each narrows it for itself alone, and one command shows
// what is left for each.
func TestTogether_3_oneScopeIsShownByOneCommand(t *testing.T) {
	t.Parallel()
	r := shared(t)
	const all, and = "all namespaces except *-beyond", "; of these all except "
	r.Eventually(func() string { return r.holdfast("status").Stdout }, story.Patience, story.Slower).Should(gomega.And(
		gomega.MatchRegexp(`(?m)^deletion +Enforce +in all namespaces except \*-beyond; of these all except \*-undeleted$`),
		gomega.MatchRegexp(`(?m)^eviction +Enforce +in all namespaces except \*-beyond; of these all except \*-unevicted$`),
		gomega.MatchRegexp(`(?m)^hierarchy +Enforce +in all namespaces except \*-beyond; of these all except hnc-system, .*treeless$`),
		gomega.MatchRegexp(`(?m)^rootSync +- +in all namespaces except \*-beyond$`),
		gomega.MatchRegexp(`(?m)^serviceAccounts +Enforce +in all namespaces except \*-beyond; of these all except \*-unpatched$`),
	))
	r.Expect(r.holdfast("status -o json").Stdout).To(gomega.And(
		gomega.ContainSubstring(`"scope": "`+all+`"`), gomega.ContainSubstring(`"scope": "`+all+and+`*-undeleted"`)))
}

// A RootSync writes nothing beyond the scope, and what it has elsewhere comes all the same.
// What the next sync would do is told by the same scope.
func TestTogether_3_aRootSyncWritesNothingBeyondTheScope(t *testing.T) {
	t.Parallel()
	r := shared(t)
	const why = "the namespace {beyond} is not in the scope of Holdfast's configuration, so it is left as it is"
	r.Commit("s", ns("a")+cm("a", "x", "1")+ns("beyond")+cm("beyond", "x", "1"))
	r.Says("s", "skipped apply of Namespace, /{beyond}: "+why, "skipped apply of ConfigMap, {beyond}/x: "+why)
	r.See("cm x -n {a} -o jsonpath={.data.v}", "1")
	r.gone("ns {beyond}")
	r.answers("sync diff {s}", 2, why)
}

// What is beyond the scope of all features is nobody's; what is beyond that of one is
// guarded by the others.
func TestTogether_3_aFeatureNarrowsTheScopeForItselfAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, namespace string
		deletable, tree bool
	}{
		{"beyond all of them", "beyond", true, false},
		{"beyond that of deletion", "undeleted", true, true},
		{"beyond that of evictions", "unevicted", false, true},
		{"in all of them", "a", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := shared(t)
			in := tt.namespace
			r.Apply(ns("p") + ns(in) + protected(in, "precious"))
			if tt.deletable {
				r.Expect(r.Run("delete cm precious -n {" + in + "}").Stderr).To(gomega.BeEmpty())
			} else {
				r.refused("delete cm precious -n {"+in+"}", "holdfast.dev/deletion-protected")
				r.done("label cm precious -n {" + in + "} holdfast.dev/deletion-protected-")
			}
			if !tt.tree {
				r.Eventually(func() string {
					return r.KubectlInput(t, r.Long(hierarchy(in, `{parent: "{p}"}`)), "apply", "-f", "-").Stderr
				}, story.Patience, story.Slower).Should(gomega.ContainSubstring("is not managed"))
				return
			}
			r.Apply(hierarchy(in, `{parent: "{p}"}`))
			r.Apply(role("p", "view", "get"))
			r.See("role view -n {"+in+"}"+verbs, "get")
		})
	}
}
