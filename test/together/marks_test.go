// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// The source of a RootSync has manifests that were exported from a cluster, with the marks of the objects there.
func TestTogether_marksInASourceCauseNoFight(t *testing.T) {
	t.Parallel()
	r := shared(t)
	exported := func(value string) string {
		out := ns("a")
		for _, name := range []string{"selected", "loose"} {
			out += fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: "{a}", labels: {holdfast.dev/marked: 00000000-0000-0000-0000-000000000000, holdfast.dev/protected-by: exported}}, data: {v: %q}}`+"\n---\n", name, value)
		}
		return out
	}
	r.Apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{a}"}, spec: {reason: data, protectedResources: [
		{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: "{a}", name: selected}]}]}}`)
	for _, value := range []string{"1", "2"} {
		r.Synced("sync", r.Commit("sync", exported(value)))
		r.See("cm selected -n {a} -o jsonpath={.data.v},{.metadata.labels.holdfast\\.dev/protected-by}", value+",{a}")
		// Holdfast removes the stray marks once; the RootSync applies them again, and they stay.
		r.See("cm loose -n {a} -o jsonpath={.data.v},{.metadata.labels.holdfast\\.dev/protected-by}", value+",exported")
	}
	versions := func() string {
		return r.Run("get cm selected loose -n {a} -o jsonpath={.items[*].metadata.resourceVersion}").Stdout
	}
	last := ""
	r.Eventually(func() bool {
		before := last
		last = versions()
		return before == last
	}, story.Patience, "2s").Should(gomega.BeTrue(), "the writes do not end")
	r.Consistently(versions, "3s", "500ms").Should(gomega.Equal(last))
	r.refused("delete cm selected -n {a}", "ResourceDeletionProtection")
}
