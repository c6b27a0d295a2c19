// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// registry knows what all RootSyncs declare: of those that declare an object, the first
// in the list may have it.
type registry struct {
	mu    sync.Mutex
	syncs []object.Sync
	all   map[object.Sync]map[object.ID]bool
}

func (r *registry) owner(id object.ID) object.Sync {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.syncs {
		if r.all[s][id] {
			return s
		}
	}
	return ""
}

func (r *registry) declare(s object.Sync, list []object.Declared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[s] = map[object.ID]bool{}
	for _, d := range list {
		r.all[s][d.ID()] = true
	}
}

// ownedBy are the standings where each RootSync may write what it owns.
func ownedBy(owner func(object.ID) object.Sync) func(object.ID) object.Standing {
	return func(id object.ID) object.Standing { return object.Standing{Owner: owner(id)} }
}

// Several RootSyncs declare the same objects now and then, others change and delete them,
// and processes end: each object ends as the oldest RootSync that declares it says, and
// is in the inventory of that one alone.
func TestEngine_rivalsAtRandom(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	known := &registry{syncs: []object.Sync{"rival-a", "rival-b", "rival-c"}, all: map[object.Sync]map[object.ID]bool{}}
	engines, texts := map[object.Sync]*engine{}, map[object.Sync][]string{}
	for _, s := range known.syncs {
		engines[s] = r.start(s, func(o *apply.Options) { o.Standing = ownedBy(known.owner) })
	}
	name := func(i int) string { return fmt.Sprint("c", i) }
	const objects = 12
	for round := range 25 {
		for _, s := range known.syncs {
			if rng.IntN(3) == 0 {
				continue
			}
			texts[s] = nil
			for i := range objects {
				if rng.IntN(2) == 0 {
					texts[s] = append(texts[s], configMap(ns, name(i), string(s)+fmt.Sprint(rng.IntN(2))))
				}
			}
			list := declared(t, texts[s]...)
			known.declare(s, list)
			engines[s].Set(timed(list, fmt.Sprint("c", round), "20s"))
			for i := range objects {
				r.each(func(e *engine) { e.Observe(object.ID{Kind: "ConfigMap", Namespace: ns, Name: name(i)}) })
			}
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name(rng.IntN(objects))}}
		err := r.e.Client.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"k":"edited"}}`)), client.FieldOwner("somebody"))
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		cm.Name = name(rng.IntN(objects))
		if err := r.e.Client.Delete(t.Context(), cm); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if s := known.syncs[rng.IntN(3)]; rng.IntN(2) == 0 {
			engines[s] = engines[s].again()
			engines[s].Set(timed(declared(t, texts[s]...), fmt.Sprint("c", round), "20s"))
		}
	}
	want, inventories := map[string]string{}, map[object.Sync][]string{}
	for _, s := range known.syncs {
		for _, d := range declared(t, texts[s]...) {
			if known.owner(d.ID()) == s {
				want[d.ID().Name] = dataOf(d.Object)
				inventories[s] = append(inventories[s], d.ID().String())
			}
		}
		slices.Sort(inventories[s])
	}
	r.Eventually(func() string {
		var list corev1.ConfigMapList
		if err := r.e.Client.List(t.Context(), &list, client.InNamespace(ns), client.HasLabels{object.LabelPartOf}); err != nil {
			return err.Error()
		}
		got, have := map[string]string{}, map[object.Sync][]string{}
		for _, cm := range list.Items {
			got[cm.Name] = cm.Data["k"]
		}
		for s, e := range engines {
			if have[s] = e.inventory(); len(have[s]) == 0 {
				delete(have, s)
			}
			slices.Sort(have[s])
		}
		return cmp.Diff(want, got) + cmp.Diff(inventories, have)
	}, patience, "200ms").Should(gomega.BeEmpty(), "seed %d", seed)
	r.asked()
	for s, e := range engines {
		e.Set(timed(declared(t, texts[s]...), "last", "20s"))
		e.settled("last")
	}
	if got := writes(r.asked()); len(got) > 0 {
		t.Errorf("seed %d: there is no rest: %v", seed, got)
	}
}
