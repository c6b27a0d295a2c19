// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestImplicit_deletedByHandItIsMadeAgainWithAllInIt(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", cm("n", "one", "1"))
	uid := r.object("ns", "n").GetUID()
	r.delete("ns", "n")
	r.Eventually(func() bool {
		o := r.object("ns", "n")
		return o != nil && o.GetUID() != uid
	}, within, often).Should(gomega.BeTrue())
	r.manager("ns", "n", "a")
	r.manager("cm", "n/one", "a")
	r.Expect(r.detached("n")).To(gomega.BeTrue())
}

// Who declares a namespace takes it over from who made it along the way, which loses
// nothing by that whatever comes after.
func TestImplicit_isAdoptedByWhoDeclaresIt(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{"as it is": ns("n"), "with detach": with(ns("n"), detach)} {
		t.Run(name, func(t *testing.T) {
			if name == "with detach" {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			made := r.syncOf("a", cm("n", "one", "1"))
			uid := r.object("ns", "n").GetUID()
			declared := r.syncOf("b", manifest)
			r.manager("ns", "n", "b")
			r.Expect(r.detached("n")).To(gomega.Equal(name == "with detach"))
			r.synced("a", made)
			r.Eventually(func() int { return len(r.inventory("a")) }, within, often).Should(gomega.Equal(1))

			// More in it changes nothing, and neither does nothing in it.
			r.synced("a", r.commit("a", "x.yaml", cm("n", "one", "1")+cm("n", "two", "1")))
			r.synced("a", r.commit("a", "none.txt", ""))
			r.manager("cm", "n/one", "-")
			r.manager("ns", "n", "b")
			r.synced("a", r.commit("a", "x.yaml", cm("n", "one", "1")))
			r.synced("b", declared)
			r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))

			// It goes back to who needs it.
			none := r.commit("b", "none.txt", "")
			r.synced("b", none)
			r.Eventually(func() bool { return r.detached("n") }, within, often).Should(gomega.BeTrue())
			r.manager("cm", "n/one", "a")
			r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
			r.synced("a", r.commit("a", "none.txt", ""))
			r.manager("cm", "n/one", "-")
			r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
		})
	}
}

// A namespace that is declared goes, and with it what others have there: it stays as
// long as they have.
func TestDeclared_staysWhileOthersUseItAndGoesWithTheLast(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("m")+ns("n"))
	r.syncOf("b", cm("n", "one", "1"), "  override: {namespaceStrategy: explicit}")
	without := r.commit("a", "x.yaml", ns("m"))
	r.says("a", "skipped delete of Namespace, /{n}: namespace still in use: {n}, by RootSync {b}")
	r.manager("cm", "n/one", "b")
	r.synced("b", r.commit("b", "none.txt", ""))
	r.synced("a", without)
	r.manager("ns", "n", "-")
}

// Namespaces that two RootSyncs make along the way at once are one's, and both go on.
func TestImplicit_twoAtOnce(t *testing.T) {
	t.Parallel()
	r := shared(t)
	commits := map[string]string{}
	for _, sync := range []string{"a", "b", "c"} {
		commits[sync] = r.commit(sync, "x.yaml", cm("n", "of-"+sync, "1")+cm("m", "of-"+sync, "1"))
		r.sync(sync)
	}
	for sync, commit := range commits {
		r.synced(sync, commit)
	}
	uid := r.object("ns", "n").GetUID()
	for _, sync := range []string{"a", "b"} {
		// The one that has it goes.
		r.annotate(sync, foreground)
		r.deleted(sync)
		r.manager("cm", "n/of-"+sync, "-")
		r.synced("c", commits["c"])
	}
	r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
	r.manager("cm", "n/of-c", "c")
}

// A prune that is refused stays in the inventory, is told with who refuses, and comes
// when the protection goes.
func TestPrune_thatIsRefused(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":"Always"}}}`)
	commit := r.commit("a", "x.yaml", ns("n"))
	r.says("a", "KNV2009: failed to prune ConfigMap, {n}/one: ")
	r.manager("cm", "n/two", "-")
	r.Expect(r.status("a")).To(gomega.ContainSubstring(v1alpha1.DeletionProtectedLabel))
	r.manager("cm", "n/one", "a")
	r.Expect(r.inventory("a")).To(gomega.HaveLen(2))
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`)
	r.synced("a", commit)
	r.manager("cm", "n/one", "-")
	r.Eventually(func() int { return len(r.inventory("a")) }, within, often).Should(gomega.Equal(1))
}

// A copy that a hierarchy keeps is no RootSync's.
func TestCopies_areNotAdopted(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(strings.Replace(ns("n"), "metadata: {", "metadata: {labels: {parent"+hncv1alpha2.LabelTreeDepthSuffix+": '1'}, ", 1)+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, namespace: \"{n}\", labels: {\""+hncv1alpha2.LabelInheritedFrom+"\": parent}}\ndata: {v: copied}\n"))
	r.commit("a", "x.yaml", cm("n", "copy", "1")+cm("n", "one", "1"))
	r.sync("a")
	r.manager("cm", "n/one", "a")
	r.says("a", "it is a copy, which the hierarchy keeps")
	r.value("n/copy", "copied")
	r.manager("cm", "n/copy", "")
	none := r.commit("a", "x.yaml", cm("n", "one", "1"))
	r.synced("a", none)
	r.value("n/copy", "copied")
}
