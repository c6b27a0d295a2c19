// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// arrivals are the orders in which the three RootSyncs of the seed can come: "a" declares a
// namespace that "x" and "y" use.
var arrivals = []string{"axy", "ayx", "xay", "xya", "yax", "yxa"}

var strategies = []string{"implicit", "explicit"}

// seed has what the three RootSyncs declare, about a namespace of some name.
func seed(namespace string) map[string]string {
	return map[string]string{"a": ns(namespace), "x": cm(namespace, "cm-x", "1"), "y": cm(namespace, "cm-y", "1")}
}

func (r *rig) seedText(short, strategy string) string {
	return r.rootSyncText(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s}", r.url(short)), "  override: {namespaceStrategy: "+strategy+"}") + "\n---\n"
}

// settled waits until all is as the seed wants it, and looks whether anybody was told of
// a conflict on the way.
func (r *rig) settled(namespace string, commits map[string]string) {
	r.t.Helper()
	for sync, commit := range commits {
		r.synced(sync, commit)
	}
	for sync := range commits {
		for _, text := range r.events(sync) {
			if strings.Contains(text, "KNV1060") || strings.Contains(text, "Contested") {
				r.t.Errorf("RootSync %s: %s", sync, text)
			}
		}
	}
	r.Expect(r.object("ns", namespace).GetAnnotations()).NotTo(gomega.HaveKey(object.AnnotationDeletion))
}

// The seed's scenario, each RootSync coming when the one before has done what it can.
func TestNamespaces_whoDeclaresItHasItInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		for _, order := range arrivals {
			t.Run(strategy+", "+order, func(t *testing.T) {
				if order != "axy" && order != "xya" { // first and last; of the others the pure tests say the same
					testkit.Long(t)
				}
				t.Parallel()
				r := shared(t)
				commits := map[string]string{}
				for sync, text := range seed("n") {
					commits[sync] = r.commit(sync, "x.yaml", text)
				}
				var uid types.UID
				for i, sync := range strings.Split(order, "") {
					r.Apply(t, object.SyncNamespace, r.seedText(sync, strategy))
					if strategy == "explicit" && !strings.Contains(order[:i+1], "a") {
						r.says(sync, `namespaces "{n}" not found`)
						continue
					}
					r.synced(sync, commits[sync])
					if o := r.object("ns", "n"); uid == "" {
						uid = o.GetUID()
					} else {
						r.Expect(o.GetUID()).To(gomega.Equal(uid), "the namespace is another one")
					}
				}
				r.settled("n", commits)
				r.manager("ns", "n", "a")
				r.manager("cm", "n/cm-x", "x")
				r.manager("cm", "n/cm-y", "y")
				r.Expect(r.object("ns", "n").GetUID()).To(gomega.Equal(uid))
			})
		}
	}
}

// The seed's scenario where nobody can say in which order they come: a RootSync declares
// all three.
func TestNamespaces_whereARootSyncDeclaresAllThree(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := shared(t)
			commits, all := map[string]string{}, ""
			for sync, text := range seed("n") {
				commits[sync] = r.commit(sync, "x.yaml", text)
				all += r.seedText(sync, strategy)
			}
			r.syncOf("root", all)
			r.settled("n", commits)
			r.manager("ns", "n", "a")
			r.manager("cm", "n/cm-x", "x")
			r.manager("cm", "n/cm-y", "y")
			for sync := range commits {
				r.Expect(r.rootSync(sync).Annotations).To(gomega.HaveKeyWithValue(object.AnnotationManager, object.Sync(r.name("root")).Manager()))
			}
		})
	}
}

// arrive has the RootSyncs of the seed come in every order while the sync is down.
func (l *ledger) arrive() {
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	commits := map[string]map[string]string{}
	for _, strategy := range strategies {
		for i, order := range arrivals {
			group := fmt.Sprintf("%s%d", strategy[:1], i)
			commits[group] = map[string]string{}
			for role := range strings.SplitSeq(order, "") {
				sync := group + role
				commits[group][sync] = l.commit(sync, "x.yaml", seed(group)[role])
				l.Apply(l.t, object.SyncNamespace, l.seedText(sync, strategy))
			}
		}
	}
	l.start(leaderless)
	for group, commits := range commits {
		l.settled(group, commits)
		l.manager("ns", group, group+"a")
		l.manager("cm", group+"/cm-x", group+"x")
		l.manager("cm", group+"/cm-y", group+"y")
	}
	// They go again: each start after this would have them to look at.
	for _, commits := range commits {
		for sync := range commits {
			l.Expect(l.Client.Delete(l.t.Context(), l.rootSync(sync))).To(gomega.Succeed())
		}
	}
	for _, commits := range commits {
		for sync := range commits {
			l.gone(sync)
		}
	}
}
