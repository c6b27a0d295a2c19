// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Two that declare one object: the older has it, whoever came first to the cluster, the
// other is told and nobody writes it to and fro.
func TestConflict_theOlderHasItAndNobodyWritesItToAndFro(t *testing.T) {
	t.Parallel()
	r := shared(t)
	first := r.syncOf("a", ns("n")+cm("n", "one", "a"))
	r.commit("b", "x.yaml", cm("n", "one", "b")+cm("n", "other", "b"))
	r.sync("b")
	r.says("b", `KNV1060: The ":root_{b}" reconciler detected a management conflict with the ":root_{a}" reconciler. Remove the object from one of the sources`)
	r.manager("cm", "n/other", "b")
	version := r.object("cm", "n/one").GetResourceVersion()
	r.synced("a", first)
	r.manager("cm", "n/one", "a")
	r.Expect(r.object("cm", "n/one").GetResourceVersion()).To(gomega.Equal(version))

	// The older gives it up: the younger has it, and the object lives on.
	uid := r.object("cm", "n/one").GetUID()
	r.commit("a", "x.yaml", ns("n"))
	r.manager("cm", "n/one", "b")
	r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
	r.Eventually(func() string { return r.status("b") }, within, often).Should(gomega.HavePrefix("synced "))
}

// The older has it also if it comes to declare it later, and what the younger does then
// does the object no harm.
func TestConflict_theOlderThatComesLaterTakesItOver(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n"))
	r.syncOf("b", cm("n", "one", "b"))
	uid := r.object("cm", "n/one").GetUID()
	first := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "a"))
	r.synced("a", first)
	r.value("n/one", "a")
	r.says("b", `KNV1060: The ":root_{b}" reconciler detected a management conflict with the ":root_{a}" reconciler.`)
	r.synced("b", r.commit("b", "x.yaml", cm("n", "two", "b")))
	r.manager("cm", "n/one", "a")
	r.annotate("b", foreground)
	r.deleted("b")
	r.manager("cm", "n/two", "-")
	r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
	r.synced("a", first)
}

func TestConflict_endsWithTheRootSyncThatHasIt(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"its objects stay": "x=y", "its objects go": foreground} {
		t.Run(name, func(t *testing.T) {
			if how != foreground {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			r.Apply(t, "", r.long(ns("n")))
			r.syncOf("a", cm("n", "one", "a")+cm("n", "two", "a"))
			commit := r.commit("b", "x.yaml", cm("n", "one", "b"))
			r.sync("b")
			r.says("b", "KNV1060: ")
			uid := r.object("cm", "n/one").GetUID()
			r.annotate("a", how)
			r.deleted("a")
			r.synced("b", commit)
			r.value("n/one", "b")
			r.manager("cm", "n/one", "b")
			r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
		})
	}
}

// Of two that declare a namespace the younger has it when the older gives it up, and
// nothing in it notices.
func TestConflict_aNamespaceThatTwoDeclare(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("m")+ns("n")+cm("n", "of-a", "1"))
	commit := r.commit("b", "x.yaml", ns("n")+cm("n", "of-b", "1"))
	r.sync("b")
	r.says("b", "KNV1060: ")
	r.manager("cm", "n/of-b", "b")
	uid := r.object("ns", "n").GetUID()
	r.synced("a", r.commit("a", "x.yaml", ns("m")))
	r.synced("b", commit)
	r.manager("ns", "n", "b")
	r.manager("cm", "n/of-a", "-")
	r.manager("cm", "n/of-b", "b")
	r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
}

// One is split in two by letting it go: what it had is taken up by the others.
func TestRemove_whatStaysIsTakenUp(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	uid := r.object("cm", "n/two").GetUID()
	r.deleted("a")
	r.syncOf("b", ns("n")+cm("n", "one", "1"))
	r.syncOf("c", cm("n", "two", "1"))
	r.manager("ns", "n", "b")
	r.manager("cm", "n/one", "b")
	r.manager("cm", "n/two", "c")
	r.Expect(r.object("cm", "n/two").GetUID()).To(gomega.Equal(uid))
}
