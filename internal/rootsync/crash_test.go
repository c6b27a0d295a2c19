// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	crashCommits = 60
	crashKills   = 6
)

var crashing = []string{"a", "b", "c"}

// world is what RootSyncs declare: values of ConfigMaps by "namespace/name", and
// Namespaces.
type world map[string]map[string]string

func newWorld() world {
	w := world{}
	for _, sync := range crashing {
		// One namespace of its own stays, or else a commit that takes all away is refused.
		w[sync] = map[string]string{"own-" + sync: ""}
	}
	return w
}

// change changes one thing about what one RootSync declares.
func (w world) change(r *rand.Rand, turn int) (sync string) {
	sync = crashing[r.IntN(len(crashing))]
	mine := w[sync]
	namespace := []string{"own-" + sync, "c0", "c1", "c2"}[r.IntN(4)]
	switch r.IntN(8) {
	case 0: // a shared namespace is declared, or is no longer
		if _, there := mine[namespace]; there && namespace != "own-"+sync {
			delete(mine, namespace)
		} else {
			mine[namespace] = ""
		}
	case 1, 2: // several go
		for _, at := range slices.Sorted(keysOf(mine)) {
			if strings.Contains(at, "/") && r.IntN(2) == 0 {
				delete(mine, at)
			}
		}
	default:
		for range 1 + r.IntN(3) {
			mine[fmt.Sprintf("%s/%s-%d", namespace, sync, r.IntN(6))] = fmt.Sprint(turn)
		}
	}
	return sync
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (w world) text(sync string) string {
	var b strings.Builder
	for _, at := range slices.Sorted(keysOf(w[sync])) {
		if namespace, name, inside := strings.Cut(at, "/"); inside {
			b.WriteString(cm(namespace, name, w[sync][at]))
		} else {
			b.WriteString(ns(at))
		}
	}
	return b.String()
}

// crashes has the sync die again and again while commits come.
func (l *ledger) crashes() {
	seed := uint64(time.Now().UnixNano())
	l.t.Logf("the seed is %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w, last := newWorld(), map[string]string{}
	for _, sync := range crashing {
		last[sync] = l.commit(sync, "x.yaml", w.text(sync))
		l.sync(sync)
	}
	for turn := range crashCommits {
		sync := w.change(r, turn)
		last[sync] = l.commit(sync, "x.yaml", w.text(sync))
		pause := time.After(time.Duration(r.IntN(600)) * time.Millisecond)
		<-pause
		if turn%(crashCommits/crashKills) == 0 {
			l.Expect(l.Sync.Kill()).To(gomega.Succeed())
			l.start(leaderless)
		}
	}
	for sync, commit := range last {
		l.Eventually(func() string { return l.status(sync) }, within, often).Should(gomega.Or(gomega.Equal("synced "+commit), gomega.ContainSubstring("KNV")), sync)
	}
	l.Eventually(func() []string { return l.disagreements(w) }, within, "500ms").Should(gomega.BeEmpty())
	l.teardown()
}

// teardown has the sync die while RootSyncs go with all that they have.
func (l *ledger) teardown() {
	for _, sync := range crashing {
		l.annotate(sync, foreground)
		l.Expect(l.Client.Delete(l.t.Context(), l.rootSync(sync))).To(gomega.Succeed())
	}
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	for _, sync := range crashing {
		l.gone(sync)
	}
	for at, o := range l.managed() {
		l.t.Errorf("%s is left, of %s", at, o.Annotations[object.AnnotationManager])
	}
}

// disagreements are where what is declared, the inventories and the cluster differ.
func (l *ledger) disagreements(w world) (out []string) {
	managed := l.managed()
	for _, sync := range crashing {
		manager, inventory := object.Sync(l.name(sync)).Manager(), l.inventory(sync)
		for at, value := range w[sync] {
			namespace, name, inside := strings.Cut(at, "/")
			if !inside {
				if l.object("ns", namespace) == nil {
					out = append(out, "there is no namespace "+at)
				}
				continue
			}
			o := l.object("cm", at)
			if have, _, _ := unstructuredString(o, "data", "v"); o == nil || have != value || o.GetAnnotations()[object.AnnotationManager] != manager {
				out = append(out, fmt.Sprintf("%s of %s is %q and not %q", name, at, have, value))
			}
		}
		for at, o := range managed {
			if o.Annotations[object.AnnotationManager] != manager {
				continue
			}
			short := strings.ReplaceAll(o.id.Namespace+"/"+o.id.Name, l.prefix+"-", "")
			if _, declared := w[sync][short]; !declared && !o.id.IsNamespace() {
				out = append(out, at+" is not declared")
			}
			if !slices.Contains(inventory, o.id) {
				out = append(out, at+" is not in the inventory of "+sync)
			}
		}
		for _, id := range inventory {
			if o, there := managed[id.String()]; !there || o.Annotations[object.AnnotationManager] != manager {
				out = append(out, fmt.Sprintf("%s is in the inventory of %s, and is %q", id, sync, o.Annotations[object.AnnotationManager]))
			}
		}
	}
	slices.Sort(out)
	return out
}

// inventory is what the ResourceGroup of a RootSync has.
func (r *rig) inventory(sync string) (out []object.ID) {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(group.Resource.GroupVersion().WithKind("ResourceGroup"))
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: object.SyncNamespace, Name: r.name(sync)}, u); err != nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "resources")
	for _, one := range list {
		m, _ := one.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		out = append(out, object.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")})
	}
	return out
}
