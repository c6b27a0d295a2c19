// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
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
