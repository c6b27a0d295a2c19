// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	held = `{"metadata":{"finalizers":["example.com/held"]}}`
	free = `{"metadata":{"finalizers":null}}`
)

// An object that a finalizer of somebody else holds is waited for as long as
// reconcileTimeout says, and told of after that. It does not hold the others up.
func TestReconcileTimeout_ofWhatAFinalizerHolds(t *testing.T) {
	t.Parallel()
	t.Run("when its RootSync goes", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
		r.sync("a", "  override: {reconcileTimeout: 3s}")
		r.synced("a", commit)
		r.patch("cm", "n/one", held)
		r.annotate("a", foreground)
		r.Expect(r.Client.Delete(t.Context(), r.rootSync("a"))).To(gomega.Succeed())
		r.failing("a", "KNV2009: failed to wait for ConfigMap, {n}/one: reconcile timeout: it is still being deleted")
		r.manager("cm", "n/two", "-")
		r.Expect(r.object("cm", "n/one").GetDeletionTimestamp()).NotTo(gomega.BeNil())
		r.patch("cm", "n/one", free)
		r.gone("a")
		r.manager("ns", "n", "-")
	})
	t.Run("when it is declared no longer, and then again", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
		r.sync("a", "  override: {reconcileTimeout: 3s}")
		r.synced("a", commit)
		r.patch("cm", "n/one", held)
		none := r.commit("a", "x.yaml", ns("n")+cm("n", "two", "1"))
		r.synced("a", none)
		r.value("n/two", "1")
		r.Expect(r.object("cm", "n/one").GetDeletionTimestamp()).NotTo(gomega.BeNil())
		again := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2"))
		r.says("a", "KNV2009: failed to apply ConfigMap, {n}/one: it is still being deleted")
		r.patch("cm", "n/one", free)
		r.synced("a", again)
		r.value("n/one", "2")
	})
}

// What became of each object stands in the inventory, unless the RootSync says that it
// shall not.
func TestStatusMode(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	statuses := func() int {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(group.Resource.GroupVersion().WithKind("ResourceGroup"))
		r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Namespace: object.SyncNamespace, Name: r.name("a")}, u)).To(gomega.Succeed())
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "resourceStatuses")
		return len(list)
	}
	r.Eventually(statuses, within, often).Should(gomega.Equal(2))
	r.spec("a", `{"override":{"statusMode":"disabled"}}`)
	r.Eventually(statuses, within, often).Should(gomega.BeZero())
	r.spec("a", `{"override":{"statusMode":"enabled"}}`)
	r.Eventually(statuses, within, often).Should(gomega.Equal(2))
}
