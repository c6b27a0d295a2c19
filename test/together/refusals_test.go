// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// What a RootSync may not take away stays in its inventory and is told once, with the name
// of what blocks it; nobody asks again and again, and it goes when the protection does.
func TestTogether_2_aRefusedPruneStaysAndComesWhenTheProtectionGoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		long bool
		// git is what the RootSync has, and kept what it declares to the end.
		git, kept string
		// make is what somebody else makes.
		make string
		// says is what the RootSync says of the prune.
		says []string
		// pruned is the object in the words of kubectl, and of the API.
		pruned                    string
		resource, namespace, item string
		free                      string
	}{
		{
			name: "of an object",
			git:  ns("a") + protected("a", "precious"), kept: ns("a"),
			says:     []string{"KNV2009: failed to prune ConfigMap, {a}/precious: ", "holdfast.dev/deletion-protected"},
			pruned:   "cm precious -n {a}",
			resource: "configmaps", namespace: "{a}", item: "precious",
			free: "label cm precious -n {a} holdfast.dev/deletion-protected-",
		},
		{
			name: "of a namespace in which somebody has something",
			git:  ns("a") + ns("b"), kept: ns("b"),
			make:     protected("a", "precious"),
			says:     []string{"KNV2009: failed to prune Namespace, /{a}: ", "configmaps/precious"},
			pruned:   "ns {a}",
			resource: "namespaces", namespace: "{a}", item: "{a}",
			free: "label cm precious -n {a} holdfast.dev/deletion-protected-",
		},
		{
			name: "of an anchor above a subnamespace in which somebody has something",
			git:  ns("p") + anchor("p", "s"), kept: ns("p"),
			make:     protected("s", "precious"),
			says:     []string{"KNV2009: failed to prune SubnamespaceAnchor.hnc.x-k8s.io, {p}/{s}: ", "configmaps/precious"},
			pruned:   "subns {s} -n {p}",
			resource: "subnamespaceanchors", namespace: "{p}", item: "{s}",
			free: "label cm precious -n {s} holdfast.dev/deletion-protected-",
		},
		{
			name: "of an anchor above a subtree in which somebody has something", long: true,
			git: ns("p") + anchor("p", "s"), kept: ns("p"),
			make:     hierarchy("s", "{allowCascadingDeletion: true}") + anchor("s", "t") + protected("t", "precious"),
			says:     []string{"KNV2009: failed to prune SubnamespaceAnchor.hnc.x-k8s.io, {p}/{s}: ", "configmaps/precious"},
			pruned:   "subns {s} -n {p}",
			resource: "subnamespaceanchors", namespace: "{p}", item: "{s}",
			free: "label cm precious -n {t} holdfast.dev/deletion-protected-",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			r.Synced("sync", r.Commit("sync", tt.git))
			if tt.make != "" {
				r.Apply(tt.make)
			}
			r.refused("delete "+tt.pruned+" --wait=false", "precious")
			before, began := r.Deletes("root-reconciler-", tt.resource, tt.namespace, tt.item), time.Now()

			r.Commit("sync", tt.kept)
			r.Says("sync", tt.says...)
			r.answers("owner "+tt.pruned, 0, "owner: RootSync {sync} (declared)")
			r.answers("why prune "+tt.pruned, 3, "would be refused", "precious", "RootSync {sync} asks again")
			r.See("resourcegroup {sync} -n "+story.Syncs+` -o jsonpath={.spec.resources[?(@.name=="`+r.Long(tt.item)+`")].name}`, tt.item)
			r.Consistently(r.terminating, "10s", "1s").Should(gomega.BeEmpty())
			asked := r.Deletes("root-reconciler-", tt.resource, tt.namespace, tt.item) - before
			if most := 1 + int(time.Since(began)/testkit.Pauses().RefusedAgain); asked < 1 || asked > most {
				t.Errorf("it was asked to go %d times, want once and no more than %d times", asked, most)
			}
			if n := r.events("{sync}", "failed to prune"); n != 1 {
				t.Errorf("it was told %d times", n)
			}

			r.done(tt.free)
			r.gone(tt.pruned)
			if again := r.Deletes("root-reconciler-", tt.resource, tt.namespace, tt.item) - before; again > asked+3 {
				t.Errorf("it was asked to go %d times until it went", again)
			}
			r.Eventually(func() string { return r.State("sync") }, story.Patience, story.Often).ShouldNot(gomega.ContainSubstring("failed to prune"))
		})
	}
}

// events is how often an Event about an object has told something.
func (r *rig) events(name, text string) (n int) {
	r.T.Helper()
	var all eventsv1.EventList
	if err := r.Client.List(r.T.Context(), &all); err != nil {
		r.T.Fatal(err)
	}
	for _, e := range all.Items {
		if e.Regarding.Name == r.Long(name) && strings.Contains(e.Note, text) {
			n++
			if e.Series != nil {
				n += int(e.Series.Count) - 1
			}
		}
	}
	return n
}

// A copy that is protected stays when its source goes. That is told once, with the name of
// the protection, and it goes when the protection does.
func TestTogether_2_aCopyThatIsProtectedStaysAndGoesWhenTheProtectionGoes(t *testing.T) {
	t.Parallel()
	r := shared(t)
	// Roles are copied always, and nobody but who has all their rights may mark one: the
	// guard copies Roles without rights here, which it may mark.
	r.Apply(ns("p"))
	r.Apply(anchor("p", "s"))
	r.Apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: precious, namespace: "{p}"}}`)
	r.See("role precious -n {s} -o name", "role.rbac.authorization.k8s.io/precious\n")
	r.Grant(t, "", "system:serviceaccount:holdfast-system:holdfast-guard", rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"*"}})
	r.Apply(`
apiVersion: holdfast.dev/v1alpha1
kind: ResourceDeletionProtection
metadata: {name: "{.}"}
spec: {reason: the books, protectedResources: [{resourceSelector: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, namespace: "{s}", name: precious}]}]}
`)
	// Who is not Holdfast is refused for the copy as well, and told of one of the two.
	r.See(`role precious -n {s} -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{.}")

	r.done("delete role precious -n {p}")
	r.Eventually(func() int { return r.events("precious", "this copy is not to be here any more, and cannot go: ") }, story.Patience, story.Often).Should(gomega.Equal(1))
	r.Consistently(r.terminating, "5s", "1s").Should(gomega.BeEmpty())
	asked := r.Deletes("holdfast-guard", "roles", "{s}", "precious")
	if asked != 1 {
		t.Errorf("it was asked to go %d times", asked)
	}
	r.answers("owner role precious -n {s}", 0, "owner: Role.rbac.authorization.k8s.io {p}/precious, of which it is a propagated copy; that is gone", "ResourceDeletionProtection {.} (Always): the books")

	r.done("delete resourcedeletionprotection {.}")
	r.gone("role precious -n {s}")
}
