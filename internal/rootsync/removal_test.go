// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const foreground = "configsync.gke.io/deletion-propagation-policy=Foreground"

// deleted deletes a RootSync and waits until it is gone.
func (r *rig) deleted(short string) {
	r.t.Helper()
	r.Expect(r.Client.Delete(r.t.Context(), r.rootSync(short))).To(gomega.Succeed())
	r.Eventually(func() string { return r.rootSync(short).Status.Reconciler }, within, often).Should(gomega.ContainSubstring("not found"))
}

func TestRemove(t *testing.T) {
	t.Parallel()
	for name, annotation := range map[string]string{"its objects are let go of": "x=y", "its objects go first, if it says so": foreground} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := shared(t)
			commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
			r.sync("a")
			r.annotate("a", annotation)
			r.synced("a", commit)
			r.deleted("a")
			if annotation == foreground {
				r.manager("cm", "n/one", "-")
				r.manager("ns", "n", "-")
			} else {
				r.manager("cm", "n/one", "")
				r.manager("ns", "n", "")
				for key := range r.object("cm", "n/one").GetAnnotations() {
					if object.IsStamp(false, key) {
						t.Errorf("%s is left", key)
					}
				}
			}
			for kind, name := range map[string]string{"serviceaccount": object.Sync(r.name("a")).Reconciler(), "resourcegroup": r.name("a")} {
				r.Eventually(func() string {
					return r.Kubectl(t, "get", kind, name, "-n", object.SyncNamespace, "--ignore-not-found", "-o", "name").Stdout
				}, within, often).Should(gomega.BeEmpty())
			}
		})
	}
}

func TestSuspend_nothingIsAppliedOrPutBackUntilItIsOver(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	r.annotate("a", "holdfast.dev/suspend=true")
	r.Eventually(func() bool {
		for _, c := range r.rootSync("a").Status.Conditions {
			if c.Type == "Suspended" && c.Status == "True" {
				return true
			}
		}
		return false
	}, within, often).Should(gomega.BeTrue())
	r.Expect(r.Client.Delete(t.Context(), r.object("cm", "n/one"))).To(gomega.Succeed())
	commit := r.commit("a", "x.yaml", ns("n")+cm("n", "two", "1"))
	// Another RootSync goes on meanwhile.
	r.syncOf("b", cm("n", "of-b", "1"))
	r.manager("cm", "n/one", "-")
	r.manager("cm", "n/two", "-")
	r.annotate("a", "holdfast.dev/suspend-")
	r.synced("a", commit)
	r.manager("cm", "n/two", "a")
}

// One of the name that comes later is another one, and takes up what it declares.
func TestRemove_anotherOfTheNameBegins(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	uid := r.object("cm", "n/one").GetUID()
	r.deleted("a")
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	r.manager("cm", "n/one", "a")
	r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
}
