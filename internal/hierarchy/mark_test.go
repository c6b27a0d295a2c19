// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

// The mark has the API server refuse the deletion of a root that has subnamespaces
// while nobody answers: nothing else of the root shows them.
func TestMark_isOnNamespacesWithSubnamespaces(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.patch(r.Client, "ns", "a", `{}`)
	r.patch(r.Client, "anchor", "a/s", `{}`)
	r.see("label ns a holdfast.dev/has-subnamespaces", "true")
	r.deleted(r.Client, "anchor", "a/s")
	r.see("label ns a holdfast.dev/has-subnamespaces", none)
}
