// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// failing waits until a RootSync that is being deleted says why it cannot go.
func (r *rig) failing(short, text string) {
	r.t.Helper()
	r.Eventually(func() string {
		var all []string
		for _, c := range r.rootSync(short).Status.Conditions {
			if c.Type == configsyncv1beta1.ConditionFinalizerFailure {
				for _, e := range c.Errors {
					all = append(all, e.ErrorMessage)
				}
			}
		}
		return strings.Join(all, "\n")
	}, within, often).Should(gomega.ContainSubstring(r.long(text)), short)
}

func (r *rig) gone(short string) {
	r.t.Helper()
	r.Eventually(func() string { return r.rootSync(short).Status.Reconciler }, within, often).Should(gomega.ContainSubstring("not found"))
}

// One that goes with its objects waits for those that must not go, and says so.
func TestRemove_waitsForWhatMustNotGo(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	r.syncOf("b", cm("n", "of-b", "1"), "  override: {namespaceStrategy: explicit}")
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":"Always"}}}`)
	r.annotate("a", foreground)
	r.Expect(r.Client.Delete(t.Context(), r.rootSync("a"))).To(gomega.Succeed())
	r.failing("a", "failed to delete ConfigMap, {n}/one: ")
	r.manager("cm", "n/two", "-")
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`)
	r.manager("cm", "n/one", "-")
	r.failing("a", "namespace still in use: {n}, by RootSync {b}")
	r.manager("cm", "n/of-b", "b")
	r.annotate("b", foreground)
	r.deleted("b")
	r.gone("a")
	r.manager("ns", "n", "-")
}

// A RootSync that is suspended deletes nothing, whether the suspension comes before its deletion or during it.
func TestRemove_whileSuspended(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	r.syncOf("b", ns("m")+cm("m", "one", "1"))
	uid := r.object("cm", "n/one").GetUID()
	for _, short := range []string{"a", "b"} {
		r.annotate(short, foreground)
		r.annotate(short, "holdfast.dev/suspend=true")
		r.Expect(r.Client.Delete(t.Context(), r.rootSync(short))).To(gomega.Succeed())
		r.failing(short, "KNV2009: RootSync {"+short+"} is suspended, so that its objects are not deleted")
	}
	r.manager("cm", "n/one", "a")
	r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
	r.annotate("a", "holdfast.dev/suspend-")
	r.gone("a")
	r.manager("cm", "n/one", "-")
	r.annotate("b", strings.Replace(foreground, "Foreground", "Orphan", 1))
	r.gone("b")
	r.manager("cm", "m/one", "")
}

// What is wrong with its source keeps no RootSync from going.
func TestRemove_withoutItsSource(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{
		"a repository that is not there": `{"git":{"repo":"https://nothing.invalid/x"}}`,
		"a Secret that is not there":     `{"git":{"auth":"token","secretRef":{"name":"{nothing}"}}}`,
		"a spec that is wrong":           `{"git":{"auth":"token"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "a spec that is wrong" {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			r.syncOf("a", ns("n")+cm("n", "one", "1"))
			r.annotate("a", foreground)
			r.spec("a", spec)
			r.Eventually(func() string { return r.status("a") }, within, often).Should(gomega.ContainSubstring("KNV"))
			r.manager("cm", "n/one", "a")
			r.deleted("a")
			r.manager("cm", "n/one", "-")
			r.manager("ns", "n", "-")
		})
	}
}

// What one has lost by a commit that was refused, another may take over: then the commit
// is good after all, as it is in the other order.
func TestEmptied_untilAnotherDeclaresIt(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("m")+ns("n")+cm("n", "one", "1"))
	uid := r.object("ns", "n").GetUID()
	commit := r.commit("a", "x.yaml", cm("n", "one", "2"))
	r.strategy("a", "explicit")
	r.Eventually(func() string { return r.status("a") }, within, often).Should(gomega.Or(gomega.ContainSubstring("KNV2006"), gomega.ContainSubstring("KNV2009")))
	r.syncOf("b", ns("m")+ns("n"))
	r.synced("a", commit)
	r.value("n/one", "2")
	r.manager("ns", "m", "b")
	r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
}
