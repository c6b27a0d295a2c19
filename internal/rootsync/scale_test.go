// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// many are ConfigMaps of one namespace.
func many(namespace string, n int, name, value string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(cm(namespace, fmt.Sprintf("%s%d", name, i), value))
	}
	return b.String()
}

// Hundreds of objects of one namespace come, and of those one changes by one write, and go.
// Thousands, and figures, are the bench's: others run beside this.
func TestScale_hundredsOfObjects(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const n = 500
	r := shared(t)
	r.syncOf("a", ns("n")+many("n", n, "m", "1"))
	versions := func() map[string]string {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kinds["cm"])
		r.Expect(r.Client.List(t.Context(), &list, client.InNamespace(r.name("n")))).To(gomega.Succeed())
		out := map[string]string{}
		for _, o := range list.Items {
			if strings.HasPrefix(o.Name, "m") {
				out[o.Name] = o.ResourceVersion
			}
		}
		return out
	}
	before := versions()
	r.Expect(before).To(gomega.HaveLen(n))
	r.Expect(r.inventory("a")).To(gomega.HaveLen(n + 1))
	r.synced("a", r.commit("a", "x.yaml", ns("n")+many("n", n-1, "m", "1")+cm("n", fmt.Sprintf("m%d", n-1), "2")))
	for name, version := range versions() {
		if changed := version != before[name]; changed != (name == fmt.Sprintf("m%d", n-1)) {
			t.Errorf("%s has changed: %v", name, changed)
		}
	}
	r.synced("a", r.commit("a", "x.yaml", ns("n")))
	r.Expect(versions()).To(gomega.BeEmpty())
	r.Eventually(func() int { return len(r.inventory("a")) }, within, often).Should(gomega.Equal(1))
}

// Errors that the API server would not take as a status are told in part, and counted as
// a whole; they stop nothing.
func TestScale_aStatusThatIsTooLarge(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const n = 1800 // of more than a kilobyte each: etcd takes one and a half thousand of these
	r := shared(t)
	name := strings.Repeat("a-long-name-", 20)
	commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1")+many("nowhere", n, name, "1"))
	r.sync("a", "  override: {namespaceStrategy: explicit, statusMode: disabled}")
	r.value("n/one", "1")
	r.Eventually(func() int {
		if s := r.rootSync("a").Status.Sync.ErrorSummary; s != nil {
			return s.TotalCount
		}
		return 0
	}, "240s", often).Should(gomega.Equal(n))
	r.Eventually(func() string { return r.rootSync("a").Status.Sync.Commit }, "240s", often).Should(gomega.Equal(commit))
	s := r.rootSync("a").Status.Sync
	r.Expect(s.ErrorSummary.Truncated).To(gomega.BeTrue())
	r.Expect(s.ErrorSummary.ErrorCountAfterTruncation).To(gomega.And(gomega.Equal(len(s.Errors)), gomega.BeNumerically(">", 0), gomega.BeNumerically("<", n)))
	r.Expect(s.Errors[0].ErrorMessage).To(gomega.ContainSubstring("KNV2009: failed to apply ConfigMap, " + r.name("nowhere") + "/"))
	r.synced("a", r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2")))
	r.value("n/one", "2")
}

// A definition that is as large as they come is a definition like any other.
func TestScale_aLargeCRD(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	large := func(text string) string {
		return strings.Replace(r.crd(), "{type: object, ", "{type: object, description: \""+strings.Repeat(text+" ", 80_000)+"\", ", 1)
	}
	r.syncOf("a", ns("n")+large("large")+r.widget("n", "one"))
	r.Expect(r.widgets()).To(gomega.ContainSubstring("/one"))
	r.synced("a", r.commit("a", "x.yaml", ns("n")+large("older")+r.widget("n", "one")))
	r.synced("a", r.commit("a", "x.yaml", ns("n")))
	r.Eventually(r.widgets, within, often).Should(gomega.BeEmpty())
}
