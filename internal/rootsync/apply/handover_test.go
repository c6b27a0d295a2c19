// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Another RootSync declares what this one wants no longer, and may go before it has taken
// it over: until then this one remembers it.
func TestEngine_whatIsHandedOverIsRememberedUntilItIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		goes, heir bool
		end        string
	}{
		{name: "it is declared no longer, and the other takes it over", heir: true, end: "w"},
		{name: "it is declared no longer, and the other goes too", end: "none"},
		{name: "all goes, and the other takes it over", goes: true, heir: true, end: "w"},
		{name: "all goes, and the other goes too", goes: true, end: "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ns := r.e.Namespace(t)
			from, to := object.Sync(ns+"-from"), object.Sync(ns+"-to")
			known := &registry{syncs: []object.Sync{from, to}, all: map[object.Sync]map[object.ID]bool{}}
			owned := func(o *apply.Options) { o.Standing = ownedBy(known.owner) }
			before, after := declared(t, configMap(ns, "x", "v")), declared(t, configMap(ns, "x", "w"))
			x := before[0].ID()
			known.declare(from, before)
			e := r.start(from, owned)
			e.set("c1", configMap(ns, "x", "v"))
			// A late event would have it look whose the object is before it is told what it wants: it gets that
			// event now, and no other one.
			r.watched(x)
			e.hears(false)
			e.Observe(x)
			e.set("again", configMap(ns, "x", "v"))

			known.declare(from, nil)
			known.declare(to, after)
			if tt.goes {
				e.Remove(apply.Foreground, apply.Declaration{Version: version("c2"), ReconcileTimeout: 30 * time.Second})
				r.Eventually(e.errors, patience, often).Should(gomega.ConsistOf(
					"KNV2009: skipped delete of " + x.String() + ": RootSync " + string(to) + " may have it and has yet to take it over"))
			} else if errors := errorsOf(e.set("c2")); len(errors) > 0 {
				t.Errorf("got %v", errors)
			}
			e.Observe(x)
			if diff := cmp.Diff([]string{x.String()}, e.inventory()); diff != "" {
				t.Error(diff)
			}
			e.hears(true)
			e.Observe(x)

			if tt.heir {
				r.start(to, owned).set("c1", configMap(ns, "x", "w"))
			} else {
				known.declare(to, nil)
				e.Observe(x)
			}
			r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "x")) }, patience, often).Should(gomega.Equal(tt.end))
			r.Eventually(e.inventory, patience, often).Should(gomega.BeEmpty())
			if tt.goes {
				r.Eventually(func() bool { return e.State().Removed }, patience, often).Should(gomega.BeTrue())
			}
		})
	}
}

// watched waits until the watch has shown objects.
func (r *rig) watched(ids ...object.ID) {
	r.t.Helper()
	for _, id := range ids {
		r.Eventually(func() bool { seen, _ := r.hub.Seen(id); return seen != nil }, patience, soon).Should(gomega.BeTrue(), id.String())
	}
}

// hears says whether an Engine is told of events.
func (e *engine) hears(on bool) {
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	if on {
		e.r.engines[e] = true
	} else {
		delete(e.r.engines, e)
	}
}

// Whose a namespace is that nobody declares turns out when it is seen. One that was left
// out because another was to make it, and is this one's after all, keeps its mark.
func TestEngine_aNamespaceThatIsItsOwnAfterAllKeepsItsMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	name, sync := ns+"-along", object.Sync(ns+"-maker")
	t.Cleanup(func() {
		_ = r.e.Client.Delete(context.WithoutCancel(r.ctx), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
	var nobodys atomic.Bool
	e := r.start(sync, func(o *apply.Options) {
		o.Standing = ownedBy(func(object.ID) object.Sync {
			if nobodys.Load() {
				return ""
			}
			return sync
		})
	})
	manager := func() string { return r.get("v1/Namespace", "", name).GetAnnotations()[object.AnnotationManager] }
	along, beside := object.ImplicitNamespace(name), declared(t, configMap(ns, "goes", "v"))
	e.Set(timed(append(beside, along), "c1", "30s"))
	e.settled("c1")
	r.Expect(manager()).To(gomega.Equal(sync.Manager()))

	e.Set(timed(nil, "c2", "30s"))
	r.Eventually(func() any { return r.get("v1/ConfigMap", ns, "goes") }, patience, often).Should(gomega.BeNil())
	r.Expect(manager()).To(gomega.Equal(sync.Manager()))
	e.Set(timed([]object.Declared{along}, "c3", "30s"))
	e.settled("c3")
	r.Expect(manager()).To(gomega.Equal(sync.Manager()))

	e.Set(timed(nil, "c4", "30s"))
	nobodys.Store(true)
	e.Observe(object.NamespaceID(name))
	r.Eventually(manager, patience, often).Should(gomega.BeEmpty())
	r.Eventually(e.inventory, patience, often).Should(gomega.BeEmpty())
}
