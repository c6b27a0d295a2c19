// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

// Who asks for a sync knows when it has ended, also where there was nothing to do, and
// need not wait for the period.
func TestSyncNow(t *testing.T) {
	t.Parallel()
	r := shared(t)
	first := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
	r.syncEvery("a", "1h")
	r.synced("a", first)
	for _, tt := range []struct{ value, text string }{{"again", cm("n", "one", "1")}, {"more", cm("n", "one", "2")}} {
		commit := r.commit("a", "x.yaml", ns("n")+tt.text)
		r.annotate("a", configsyncv1beta1.AnnotationSyncNow+"="+tt.value)
		r.Eventually(func() string { return r.rootSync("a").Annotations[configsyncv1beta1.AnnotationSyncNowDone] }, within, often).Should(gomega.Equal(tt.value))
		r.Expect(r.rootSync("a").Status.LastSyncedCommit).To(gomega.Equal(commit))
	}
}
