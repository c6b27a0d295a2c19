// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// Those who can lay claim to a namespace.
const (
	declares = "declares" // a RootSync has it in its source
	anchors  = "anchors"  // an anchor makes it
	tools    = "tools"    // another tool applies it
	uses     = "uses"     // a RootSync has something in it
)

// tried are the orders that a run tries: all of them, or one and its reverse, in which any two come in either
// order.
func tried(words ...string) [][]string {
	if !testing.Short() {
		return orders(words...)
	}
	reverse := slices.Clone(words)
	slices.Reverse(reverse)
	return [][]string{words, reverse}
}

// orders are all orders of some words.
func orders(words ...string) (out [][]string) {
	if len(words) == 0 {
		return [][]string{nil}
	}
	for i, first := range words {
		rest := append(append([]string{}, words[:i]...), words[i+1:]...)
		for _, more := range orders(rest...) {
			out = append(out, append([]string{first}, more...))
		}
	}
	return out
}

// arrive has one of them come, when those before have done what they can.
func (r *rig) arrive(who string) {
	r.T.Helper()
	switch who {
	case declares:
		r.Synced("declares", r.Commit("declares", ns("n")))
	case uses:
		r.Synced("uses", r.Commit("uses", cm("n", "used", "1")))
	case tools:
		r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "{n}", labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}}`)
	case anchors:
		// For a namespace that is there already an anchor is refused, as upstream.
		r.Eventually(func() string {
			return r.KubectlInput(r.T, r.Long(anchor("p", "n")), "apply", "--server-side", "-f", "-").Stderr
		}, story.Patience, story.Slower).Should(gomega.Or(gomega.BeEmpty(), gomega.ContainSubstring(r.Long(`there is a namespace "{n}" already`))))
		r.Eventually(func() string { return r.Run("get ns {n} -o name").Stdout }, story.Patience, story.Slower).ShouldNot(gomega.BeEmpty())
	}
}

// standing says whose the namespace is, and who else claims it.
func (r *rig) standing() string {
	r.T.Helper()
	ns := r.namespace("{n}")
	v, err := ownership.Decide(ns)
	if err != nil {
		return err.Error()
	}
	words := make([]string, 0, len(v.Claims))
	for _, c := range v.Claims {
		words = append(words, string(c.How)+" "+c.Claimant)
	}
	return strings.ReplaceAll(strings.Join(words, ", "), r.Prefix+"-", "")
}

// Whoever comes first: what a RootSync declares is that one's, the namespace is one and the
// same from its first day, and nobody is told of a conflict. When the declaration goes, the
// namespace stays as long as others use it.
func TestTogether_4_aNamespaceHasOneOwnerInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, order := range tried(anchors, declares, tools, uses) {
		t.Run(strings.Join(order, ", "), func(t *testing.T) {
			t.Parallel()
			r := shared(t)
			r.Apply(ns("p"))
			uid := ""
			for _, who := range order {
				r.arrive(who)
				now := string(r.namespace("{n}").UID)
				if uid != "" && uid != now {
					t.Fatalf("the namespace is another one when somebody %s", who)
				}
				uid = now
			}
			anchored := r.Run("get subns {n} -n {p} -o name").Code == 0
			want := []string{"declared rootsync/" + story.Syncs + "/declares", "foreign flux/kustomization/flux-system/apps"}
			if anchored {
				want = []string{want[0], "subnamespace anchor/p", want[1]}
			}
			r.Eventually(r.standing, story.Patience, story.Often).Should(gomega.HavePrefix(strings.Join(want, ", ")))
			r.Expect(anchored).To(gomega.Equal(order[0] == anchors), "an anchor makes a namespace, and takes none")
			r.Eventually(func() string { return r.State("declares") + r.State("uses") }, story.Patience, story.Often).ShouldNot(gomega.ContainSubstring("KNV"))
			r.answers("owner namespace {n}", 0, "owner: RootSync {declares} (declared)", "declared goes before ")

			// It is declared no longer, and stays for those who use it, who are named.
			r.Commit("declares", ns("q"))
			r.Says("declares", "KNV2009: skipped delete of Namespace, /{n}: namespace still in use: {n}, by ", "RootSync {uses}", "flux/kustomization/flux-system/apps (foreign)")
			if anchored {
				r.Says("declares", "anchor/{p} (subnamespace)")
			}
			r.answers("why prune namespace {n} --sync {declares}", 3, "the prune would be refused", "RootSync {declares} asks again when those who use it have gone")
			r.Expect(r.namespace("{n}").DeletionTimestamp).To(gomega.BeNil())
			r.Expect(string(r.namespace("{n}").UID)).To(gomega.Equal(uid))
			r.See("cm used -n {n} -o jsonpath={.data.v}", "1")
		})
	}
}

// A source that has an anchor and what is in its subnamespace is applied as a whole: nobody
// makes the namespace on the way, which the anchor would then be refused for.
func TestTogether_4_anAnchorAndItsContentsComeFromOneSource(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Synced("sync", r.Commit("sync", ns("p")+cm("s", "own", "1")+anchor("p", "s")))
	r.See("subns {s} -n {p} -o jsonpath={.status.status}", "Ok")
	r.answers("owner namespace {s}", 0, "owner: the anchor in namespace {p} (subnamespace)")
	r.answers("owner hierarchyconfiguration hierarchy -n {s}", 0, "owner: the anchor in namespace {p}, which says where this namespace stands")
	r.answers("owner cm own -n {s}", 0, "owner: RootSync {sync} (declared)", "anchor/{p} owns it (subnamespace)")
}

// Where nobody declares a namespace it is as in Config Sync: who needs it makes it, and lets
// go of it when it needs it no longer, with all that others have there.
func TestTogether_4_implicitUseIsAsUpstream(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Synced("uses", r.Commit("uses", ns("q")+cm("n", "used", "1")))
	r.answers("owner namespace {n}", 0, "owner: RootSync {uses} (implicit)")
	r.See(`ns {n} -o jsonpath={.metadata.annotations.holdfast\.dev/claims}`, "")
	r.Apply(cm("n", "anothers", "1"))
	r.Synced("uses", r.Commit("uses", ns("q")))
	r.gone("cm used -n {n}")
	r.See("cm anothers -n {n} -o jsonpath={.data.v}", "1")
	r.Eventually(func() string { return r.namespace("{n}").Annotations["configsync.gke.io/manager"] }, story.Patience, story.Often).Should(gomega.BeEmpty())
	r.Expect(r.namespace("{n}").DeletionTimestamp).To(gomega.BeNil())
	r.answers("owner namespace {n}", 0, "owner: nobody that left a mark")
}
