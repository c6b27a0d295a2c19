// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
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

// Who waits for namespaces says which, beside the error of each object, and goes on with
// what it can when one of them appears.
func TestNamespaces_explicitWaitsAndGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	r := shared(t)
	ready := func() string {
		for _, c := range r.rootSync("x").Status.Conditions {
			if c.Type == configsyncv1beta1.ConditionNamespacesReady {
				return string(c.Status) + " " + c.Reason + ": " + c.Message
			}
		}
		return ""
	}
	const missing = "False NamespaceMissing: these namespaces are used and do not exist: "
	commit := r.commit("x", "cm.yaml", cm("m", "one", "1")+cm("n", "cm", "1")+cm("n", "more", "1"))
	r.sync("x", "  override: {namespaceStrategy: explicit}")
	r.says("x", `KNV2009: failed to apply ConfigMap, {n}/cm: namespaces "{n}" not found`)
	r.Eventually(ready, within, often).Should(gomega.HavePrefix(r.long(missing + "{m}, {n};")))
	r.Apply(t, "", r.long(ns("n")))
	r.manager("cm", "n/cm", "x")
	r.manager("cm", "n/more", "x")
	r.Eventually(ready, within, often).Should(gomega.HavePrefix(r.long(missing + "{m};")))
	r.Apply(t, "", r.long(ns("m")))
	r.synced("x", commit)
	r.Eventually(ready, within, often).Should(gomega.Equal("True NamespacesExist: all namespaces that are used exist"))
	r.manager("ns", "n", "")
	r.manager("ns", "m", "")

	// One that goes takes its objects along, and they come back with it.
	r.delete("ns", "n")
	r.Eventually(ready, within, often).Should(gomega.HavePrefix(r.long(missing + "{n};")))
	r.Apply(t, "", r.long(ns("n")))
	r.synced("x", commit)
	r.manager("cm", "n/cm", "x")
}
