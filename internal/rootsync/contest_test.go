// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// events are those about a RootSync: "Warning Reason: text". One that came several times
// is there once.
func (r *rig) events(short string) (out []string) {
	r.t.Helper()
	var list corev1.EventList
	if err := r.Client.List(r.t.Context(), &list, client.InNamespace(object.SyncNamespace), client.MatchingFields{"involvedObject.name": r.name(short)}); err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list.Items {
		out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	return out
}

// tells waits for an event about a RootSync.
func (r *rig) tells(short, text string) {
	r.t.Helper()
	r.Eventually(func() []string { return r.events(short) }, within, often).Should(gomega.ContainElement(gomega.ContainSubstring(r.long(text))), short)
}

// contest is what a RootSync says of others that declare its namespaces.
func (r *rig) contest(short string) string {
	for _, c := range r.rootSync(short).Status.Conditions {
		if c.Type == configsyncv1beta1.ConditionNamespacesContested {
			return string(c.Status) + ": " + c.Message
		}
	}
	return ""
}

// contested waits until both have been told that they declare one namespace.
func (r *rig) contested(namespace, winner, loser string) {
	r.t.Helper()
	r.says(loser, fmt.Sprintf(`KNV1060: The ":root_{%s}" reconciler detected a management conflict with the ":root_{%s}" reconciler.`, loser, winner))
	text := r.long(fmt.Sprintf("{%s} (RootSync {%s})", namespace, loser))
	r.Eventually(func() string { return r.contest(winner) }, within, often).Should(gomega.And(gomega.HavePrefix("True: "), gomega.ContainSubstring(text)))
	r.tells(winner, "Warning NamespacesContested: these namespaces are this RootSync's, and others declare them too: "+text)
	r.Expect(r.contest(loser)).To(gomega.BeEmpty())
	r.manager("ns", namespace, winner)
}

// uncontested waits until nobody declares what another has.
func (r *rig) uncontested(syncs ...string) {
	r.t.Helper()
	for _, sync := range syncs {
		r.Eventually(func() string { return r.contest(sync) }, within, often).Should(gomega.BeEmpty(), sync)
	}
}

// Two that declare one namespace are both told, whichever declared it first, and the
// remedy of the seed, at either of them, is all that has to be done.
func TestContest_bothAreToldUntilOneDeclaresItNoLonger(t *testing.T) {
	t.Parallel()
	older := ns("m") + ns("n") + cm("n", "of-a", "1")
	younger := ns("n") + cm("n", "of-b", "1")
	for _, first := range []string{"the older", "the younger"} {
		t.Run(first+" declares it first", func(t *testing.T) {
			if first == "the older" {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			r.syncOf("a", ns("m"))
			if first == "the older" {
				r.synced("a", r.commit("a", "x.yaml", older))
			}
			r.commit("b", "x.yaml", younger)
			r.sync("b")
			r.manager("cm", "n/of-b", "b")
			uid := r.object("ns", "n").GetUID()
			commit := r.commit("a", "x.yaml", older)
			r.synced("a", commit)
			r.contested("n", "a", "b")
			r.manager("cm", "n/of-b", "b")
			version := r.object("ns", "n").GetResourceVersion()

			r.synced("b", r.commit("b", "x.yaml", cm("n", "of-b", "1")))
			r.uncontested("a", "b")
			r.synced("a", commit)
			again := r.commit("b", "x.yaml", younger)
			r.contested("n", "a", "b")
			r.synced("a", r.commit("a", "x.yaml", ns("m")+cm("n", "of-a", "1")))
			r.synced("b", again)
			r.uncontested("a", "b")
			r.manager("ns", "n", "b")
			r.manager("cm", "n/of-a", "a")
			r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
			r.Expect(r.object("ns", "n").GetResourceVersion()).NotTo(gomega.Equal(version))
		})
	}
}

// Who has the namespace hears of it also when the other one is deleted.
func TestContest_endsWithTheRival(t *testing.T) {
	t.Parallel()
	r := shared(t)
	commit := r.syncOf("a", ns("n"))
	r.commit("b", "x.yaml", ns("n")+cm("n", "of-b", "1"))
	r.commit("c", "x.yaml", ns("n"))
	r.sync("b")
	r.sync("c")
	r.Eventually(func() string { return r.contest("a") }, within, often).Should(gomega.ContainSubstring(r.long("{n} (RootSync {b}, RootSync {c})")))
	r.annotate("b", foreground)
	r.deleted("b")
	r.contested("n", "a", "c")
	r.Expect(r.contest("a")).NotTo(gomega.ContainSubstring(r.name("b")))
	r.deleted("c")
	r.uncontested("a")
	r.synced("a", commit)
	r.manager("ns", "n", "a")
}

// contests has the sync start again while two declare one namespace: with what both say
// when they have come in either order, and when the source of one cannot be read.
func (l *ledger) contests() {
	for _, short := range []string{"ca", "cb", "cc"} {
		l.syncOf(short, ns("of-"+short)) // the first is the oldest
	}
	l.commit("cb", "x.yaml", ns("of-cb")+ns("ce")) // the younger comes first to this
	l.manager("ns", "ce", "cb")
	l.commit("ca", "x.yaml", ns("of-ca")+ns("cd")+ns("ce"))
	l.manager("ns", "cd", "ca")
	l.manager("ns", "ce", "ca")
	lost := l.commit("cb", "x.yaml", ns("of-cb")+ns("cd")+ns("ce")) // and last to that
	both := l.long("{cd} (RootSync {cb}), {ce} (RootSync {cb})")
	told := func() {
		l.t.Helper()
		l.Eventually(func() string { return l.contest("ca") }, within, often).Should(gomega.ContainSubstring(both))
		for _, name := range []string{"cd", "ce"} {
			l.manager("ns", name, "ca")
		}
	}
	told()
	l.says("cb", "KNV1060: ")
	l.still()
	events := len(l.events("ca"))
	for _, readable := range []bool{true, false} {
		if !readable {
			l.repo("cb").Drop(l.t)
		}
		before := len(l.done())
		l.Expect(l.Sync.Kill()).To(gomega.Succeed())
		l.start(leaderless)
		if !readable {
			l.says("cb", "KNV2004: ")
		}
		l.synced("cc", l.commit("cc", "x.yaml", ns("of-cc")+cm("of-cc", "one", fmt.Sprint(readable))))
		l.still()
		told()
		for _, w := range l.done()[before:] {
			if strings.Contains(w, " namespaces ") || strings.HasSuffix(w, l.name("ca")+" 200") {
				l.t.Errorf("nothing has changed, and there is: %s", w)
			}
		}
		l.Expect(l.events("ca")).To(gomega.HaveLen(events))
	}
	l.repo("cb").Reset(l.t, lost)
	l.says("cb", "KNV1060: ")
	l.synced("cb", l.commit("cb", "x.yaml", ns("of-cb")))
	l.uncontested("ca", "cb")
}
