// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
)

// What gets a selector stays as it was applied last, and everything else goes on.
func TestSelector_anObjectWithOneStays(t *testing.T) {
	t.Parallel()
	const selector = "configmanagement.gke.io/cluster-selector: prod"
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1")+cm("n", "three", "1"))
	r.commit("a", "x.yaml", ns("n")+with(cm("n", "one", "2"), selector)+cm("n", "two", "2"))
	r.says("a", "KNV1004: The annotation configmanagement.gke.io/cluster-selector is not supported")
	r.value("n/two", "2")
	r.manager("cm", "n/three", "-")
	r.value("n/one", "1")
	r.manager("cm", "n/one", "a")

	// A Namespace takes what is in it along, and none of it is lost.
	uid := r.object("ns", "n").GetUID()
	r.commit("a", "x.yaml", with(ns("n"), selector)+cm("n", "one", "3")+cm("n", "two", "3")+cm("m", "one", "3"))
	r.says("a", `KNV1004: The Namespace "{n}" has a selector`)
	r.value("m/one", "3")
	r.value("n/one", "1")
	r.value("n/two", "2")
	r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
	r.manager("ns", "n", "a")

	r.synced("a", r.commit("a", "x.yaml", ns("n")+cm("n", "one", "4")))
	r.value("n/one", "4")
	r.manager("cm", "n/two", "-")
}
