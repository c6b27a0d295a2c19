// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			for kind, name := range map[string]string{"account": object.Sync(r.name("a")).Reconciler(), "inventory": r.name("a")} {
				r.Eventually(func() any { return r.object(kind, "/"+object.SyncNamespace+"/"+name) }, within, often).Should(gomega.BeNil())
			}
		})
	}
}

// What somebody runs in a namespace, with no RootSync and nothing else that has it, keeps
// the namespace: who takes it out of the source is told what it would take along.
func TestPrune_aNamespaceInWhichSomebodyRunsSomething(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+ns("m"))
	web := &appsv1.Deployment{}
	web.Namespace, web.Name = r.long("{n}"), "web"
	web.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	web.Spec.Template.Labels = map[string]string{"app": "web"}
	web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
	r.Expect(r.Client.Create(t.Context(), web)).To(gomega.Succeed())
	commit := r.commit("a", "x.yaml", ns("m"))
	r.says("a", `KNV2009: skipped delete of Namespace, /{n}: namespace still in use: {n}, by Deployment web, which no RootSync has`)
	r.manager("cm", "n/one", "-")
	r.manager("ns", "n", "a")
	r.Expect(r.Client.Delete(t.Context(), web)).To(gomega.Succeed())
	r.Eventually(func() string { return r.status("a") }, 2*time.Minute, often).Should(gomega.Equal("synced " + commit))
	r.manager("ns", "n", "-")
}

func TestSuspend_nothingIsAppliedOrPutBackUntilItIsOver(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.served = true // the server counts who asks
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
	// Another RootSync goes on meanwhile, and nobody looks at the repository of the first.
	looked := r.repo("a").Counts().Lists
	r.syncOf("b", cm("n", "of-b", "1"))
	r.manager("cm", "n/one", "-")
	r.manager("cm", "n/two", "-")
	if got := r.repo("a").Counts().Lists; got > looked+1 { // one may have been on its way
		t.Errorf("it was looked at the repository %d times meanwhile", got-looked)
	}
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
