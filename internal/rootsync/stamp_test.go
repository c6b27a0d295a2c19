// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// The commit on an object is that for which it was last written, or if it is asked for
// the one that is synced.
func TestStamp(t *testing.T) {
	t.Parallel()
	r := shared(t)
	first := r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	token := func(at string) string { return r.object("cm", at).GetAnnotations()[object.AnnotationToken] }
	version := r.object("cm", "n/one").GetResourceVersion()
	second := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1")+cm("n", "two", "2"))
	r.synced("a", second)
	r.Expect(token("n/one")).To(gomega.Equal(first))
	r.Expect(token("n/two")).To(gomega.Equal(second))
	r.Expect(r.object("cm", "n/one").GetResourceVersion()).To(gomega.Equal(version))
	r.annotate("a", configsyncv1beta1.AnnotationCommitStamp+"="+configsyncv1beta1.CommitStampExact)
	r.Eventually(func() string { return token("n/one") }, within, often).Should(gomega.Equal(second))
	third := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1")+cm("n", "two", "3"))
	r.synced("a", third)
	r.Expect(token("n/one")).To(gomega.Equal(third))
}

// In the namespace of the RootSyncs there may be objects, and it is nobody's itself.
func TestHome(t *testing.T) {
	t.Parallel()
	r := shared(t)
	mine := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{x}\", namespace: " + object.SyncNamespace + "}\n---\n"
	r.syncOf("a", ns("m")+mine)
	at := "/" + object.SyncNamespace + "/" + r.name("x")
	r.manager("cm", at, "a")
	r.commit("a", "x.yaml", ns("m")+"apiVersion: v1\nkind: Namespace\nmetadata: {name: "+object.SyncNamespace+"}\n")
	r.says("a", "KNV1034: ")
	r.manager("cm", at, "a")
	r.synced("a", r.commit("a", "x.yaml", ns("m")))
	r.manager("cm", at, "-")
}
