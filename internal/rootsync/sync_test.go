// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestSync_bringsWhatIsCommittedAndTakesAwayWhatIsNot(t *testing.T) {
	t.Parallel()
	r := shared(t)
	first := r.commit("a", "x.yaml", ns("a")+cm("a", "one", "1")+cm("a", "two", "1"))
	r.sync("a")
	r.synced("a", first)
	r.manager("cm", "a/one", "a")
	second := r.commit("a", "x.yaml", ns("a")+cm("a", "one", "2"))
	r.synced("a", second)
	r.manager("cm", "a/two", "-")
	value, _, _ := unstructuredString(r.object("cm", "a/one"), "data", "v")
	r.Expect(value).To(gomega.Equal("2"))

	// What somebody changes is put back, and what others add stays.
	o := r.object("cm", "a/one")
	r.Expect(r.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"data":{"v":"3","w":"mine"}}`)))).To(gomega.Succeed())
	r.Eventually(func() string {
		v, _, _ := unstructuredString(r.object("cm", "a/one"), "data", "v")
		w, _, _ := unstructuredString(r.object("cm", "a/one"), "data", "w")
		return v + w
	}, within, often).Should(gomega.Equal("2mine"))
}

// The seed's scenario: sync-a declares a namespace that sync-x and sync-y use, whatever
// the order in which they come.
func TestNamespaces_whoDeclaresItHasItInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"a", "x", "y"}, {"x", "a", "y"}, {"y", "x", "a"}, {"x", "y", "a"}} {
		t.Run(order[0]+order[1]+order[2], func(t *testing.T) {
			t.Parallel()
			r := shared(t)
			commits := map[string]string{
				"a": r.commit("a", "ns.yaml", ns("n")),
				"x": r.commit("x", "cm.yaml", cm("n", "cm-x", "1")),
				"y": r.commit("y", "cm.yaml", cm("n", "cm-y", "1")),
			}
			var uid types.UID
			for _, sync := range order {
				r.sync(sync)
				r.manager("cm", "n/cm-"+sync, map[bool]string{true: "-", false: sync}[sync == "a"])
				if o := r.object("ns", "n"); o != nil {
					if uid != "" && o.GetUID() != uid {
						t.Error("the namespace is another one")
					}
					uid = o.GetUID()
				}
			}
			for sync, commit := range commits {
				r.synced(sync, commit)
			}
			r.manager("ns", "n", "a")
			r.manager("cm", "n/cm-x", "x")
			r.manager("cm", "n/cm-y", "y")
			r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
		})
	}
}

func TestNamespaces_explicitWaitsAndGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	r := shared(t)
	commit := r.commit("x", "cm.yaml", cm("n", "cm", "1"))
	r.sync("x", "  override: {namespaceStrategy: explicit}")
	r.says("x", `KNV2009: failed to apply ConfigMap, {n}/cm: namespaces "{n}" not found`)
	r.Apply(t, "", r.long(ns("n")))
	r.synced("x", commit)
	r.manager("ns", "n", "")
}
