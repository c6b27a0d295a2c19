// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	crashCommits = 100
	crashKills   = 12
	// crashPause bounds the pause after a commit, in which the sync may come to see it, begin
	// with it, or end, before it dies. The repository is asked once a second.
	crashPause = 1500 * time.Millisecond
	// commitPause bounds the pause where it does not die.
	commitPause = 400 * time.Millisecond
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
	dies := r.Perm(crashCommits)[:crashKills]
	for turn := range crashCommits {
		sync := w.change(r, turn)
		last[sync] = l.commit(sync, "x.yaml", w.text(sync))
		if !slices.Contains(dies, turn) {
			pass(r, commitPause)
			continue
		}
		pass(r, crashPause)
		l.Expect(l.Sync.Kill()).To(gomega.Succeed())
		l.start(leaderless)
	}
	for sync, commit := range last {
		l.Eventually(func() string { return l.status(sync) }, within, often).Should(gomega.Or(gomega.Equal("synced "+commit), gomega.ContainSubstring("KNV")), sync)
	}
	l.Eventually(func() []string { return slices.Concat(l.disagreements(w), l.strays(w)) }, within, "500ms").Should(gomega.BeEmpty())
	l.teardown()
}

// pass lets a random time go by.
func pass(r *rand.Rand, most time.Duration) { <-time.After(time.Duration(r.Int64N(int64(most)))) }

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
	l.Expect(l.strays(world{})).To(gomega.BeEmpty(), "what nobody declares any more")
}

// owners are who declares a namespace, or has a ConfigMap in it, by its short name: the
// oldest of those who declare it, or else all who use it.
func (l *ledger) owners(w world, namespace string) (owners []string) {
	var declare, use []string
	for _, sync := range crashing {
		for at := range w[sync] {
			switch of, _, inside := strings.Cut(at, "/"); {
			case of != namespace:
			case inside:
				use = append(use, sync)
			default:
				declare = append(declare, sync)
			}
		}
	}
	if len(declare) == 0 {
		return use
	}
	return []string{slices.MinFunc(declare, func(a, b string) int {
		return cmp.Or(l.rootSync(a).CreationTimestamp.Compare(l.rootSync(b).CreationTimestamp.Time), cmp.Compare(a, b))
	})}
}

// disagreements are where what is declared, the inventories and the cluster differ.
func (l *ledger) disagreements(w world) (out []string) {
	managed := l.managed()
	for _, sync := range crashing {
		out = append(out, l.lost(w, sync)...)
		out = append(out, l.misfiled(sync, managed)...)
	}
	slices.Sort(out)
	return out
}

// lost are objects that a RootSync declares, and that are not there as it declares them.
func (l *ledger) lost(w world, sync string) (out []string) {
	for at, value := range w[sync] {
		namespace, _, inside := strings.Cut(at, "/")
		want, o := sync, l.object("ns", namespace)
		if inside {
			o = l.object("cm", at)
		} else {
			want = l.owners(w, namespace)[0]
		}
		manager := object.Sync(l.name(want)).Manager()
		if have, _, _ := unstructuredString(o, "data", "v"); o == nil || have != value || o.GetAnnotations()[object.AnnotationManager] != manager {
			out = append(out, fmt.Sprintf("%s of %s is %q and not %q", at, sync, have, value))
		}
	}
	return out
}

// misfiled is where the inventory of a RootSync and the objects that it manages differ.
func (l *ledger) misfiled(sync string, managed map[string]kept) (out []string) {
	manager, inventory := object.Sync(l.name(sync)).Manager(), l.inventory(sync)
	for at, o := range managed {
		if o.Annotations[object.AnnotationManager] == manager && !slices.Contains(inventory, o.id) {
			out = append(out, at+" is not in the inventory of "+sync)
		}
	}
	for _, id := range inventory {
		if o, there := managed[id.String()]; !there || o.Annotations[object.AnnotationManager] != manager {
			out = append(out, fmt.Sprintf("%s is in the inventory of %s, and is %q", id, sync, o.Annotations[object.AnnotationManager]))
		}
	}
	return out
}

// strays are ConfigMaps and namespaces that are there and that nobody declares, whatever
// is written on them. A namespace that was made along the way stays, and is nobody's.
func (l *ledger) strays(w world) (out []string) {
	l.t.Helper()
	short := func(name string) (string, bool) { return strings.CutPrefix(name, l.prefix+"-") }
	var maps corev1.ConfigMapList
	l.Expect(l.Client.List(l.t.Context(), &maps)).To(gomega.Succeed())
	for _, o := range maps.Items {
		namespace, mine := short(o.Namespace)
		sync, _, _ := strings.Cut(o.Name, "-")
		if _, declared := w[sync][namespace+"/"+o.Name]; mine && !declared && o.Name != "kube-root-ca.crt" {
			out = append(out, fmt.Sprintf("ConfigMap %s/%s is not declared", namespace, o.Name))
		}
	}
	var spaces corev1.NamespaceList
	l.Expect(l.Client.List(l.t.Context(), &spaces)).To(gomega.Succeed())
	for _, o := range spaces.Items {
		namespace, mine := short(o.Name)
		if !mine || len(l.owners(w, namespace)) > 0 {
			continue
		}
		if manager := o.Annotations[object.AnnotationManager]; manager != "" || o.Annotations[object.AnnotationDeletion] != object.DeletionDetach {
			out = append(out, fmt.Sprintf("namespace %s is %q's, and nobody declares or uses it", namespace, manager))
		}
	}
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
