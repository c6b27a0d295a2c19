// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
)

// The mark has the API server refuse the deletion of a root that has subnamespaces
// while nobody answers: nothing else of the root shows them.
func TestMark_isOnNamespacesWithSubnamespaces(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.patch(r.Client, "ns", "a", `{}`)
	mark := func() string {
		return r.Kubectl(t, "get", "namespace", r.name("a"), "-o", `jsonpath={.metadata.labels.holdfast\.dev/has-subnamespaces}`).Stdout
	}
	r.patch(r.Client, "anchor", "a/s", `{}`)
	r.Eventually(mark, "180s", "50ms").Should(gomega.Equal("true"))
	r.deleted(r.Client, "anchor", "a/s")
	r.Eventually(mark, "180s", "50ms").Should(gomega.BeEmpty())
}
