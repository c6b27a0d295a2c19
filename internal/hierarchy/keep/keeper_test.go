// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// place is one for a copy: a kind with its group, a namespace and a name.
func place(kind, namespace, name string) world.CopyRef {
	return world.CopyRef{Key: propagate.Key{Kind: schema.ParseGroupKind(kind), Name: name}, Namespace: namespace}
}

// goes is a plan by which a copy goes without an explanation.
func goes() *world.CopyPlan {
	return &world.CopyPlan{Verdict: propagate.Verdict{Action: propagate.Remove}, Have: &world.Copy{From: "up"}, Copies: 2}
}

// stays is one by which it is as it should be.
func stays() *world.CopyPlan {
	from := &world.Source{Object: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "up"}}}}
	return &world.CopyPlan{Verdict: propagate.Verdict{Action: propagate.Copy}, From: from, Have: &world.Copy{From: "up"}}
}

// changed tells the Keeper of places, and does what it finds to do about copies.
func (r *rig) changed(places ...world.CopyRef) {
	r.t.Helper()
	r.Changed(world.Dirty{Copies: sets.New(places...)})
	r.all(places...)
}

// all does what there is to do about some places.
func (r *rig) all(places ...world.CopyRef) {
	r.t.Helper()
	for _, at := range places {
		if err := r.copy(r.t.Context(), item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) held() int {
	h, _ := r.removals.halted()
	return h.Held
}

func TestCopy_ofTwoGroupsAreHeldEachForItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.look()
	a, b := place("Service", "ns", "x"), place("Service.serving.example.com", "ns", "x")
	r.world.copies[a], r.world.copies[b] = goes(), goes()
	r.changed(a, b)
	if r.held() != 2 {
		t.Fatalf("%d are held", r.held())
	}
	r.world.copies[a] = stays()
	r.changed(a)
	if r.held() != 1 {
		t.Errorf("one stays, and %d are held", r.held())
	}
}

// On a quiet cluster nothing else has it written.
func TestCopy_thatWaitedAndStaysIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.look()
	at := place("Secret", "ns", "x")
	said := func() bool {
		_, ok := r.added[item{what: theConfig}]
		return ok
	}
	r.world.copies[at] = stays()
	r.changed(at)
	if said() {
		t.Error("it is said of a copy that did not wait")
	}
	r.world.copies[at] = goes()
	r.Changed(world.Dirty{Copies: sets.New(at)})
	r.world.copies[at] = stays()
	r.changed(at)
	if r.held() != 0 || !said() {
		t.Errorf("%d are held, and it is said: %t", r.held(), said())
	}
}

// What was sent twice, or met somebody else, is not said of a namespace at once.
func TestCopy_failsForGood(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.look()
	at := place("Secret", "ns", "x")
	broken := stays() // nobody answers at the address of the API server
	broken.Have = nil
	r.world.copies[at] = broken
	r.Changed(world.Dirty{Copies: sets.New(at), Moved: sets.New("ns")})
	i := item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace}
	for n, fails := range []bool{false, true} {
		err := r.copy(t.Context(), i)
		if err == nil {
			t.Fatal("it goes")
		}
		r.retry(i, err)
		complete, problem, known := r.progress.of("ns")
		if complete || !known || (problem != "") != fails {
			t.Errorf("after %d times it is said: %t, %q, %t", n+1, complete, problem, known)
		}
	}
}

// What was to be done while nothing may be written is dropped. When it may be again
// everything is looked at, and what is not to be done any more is not waited for.
func TestLook_beginsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.look()
	gone, late, failed := place("Secret", "gone", "x"), place("Secret", "late", "x"), place("Secret", "failed", "x")
	r.world.copies[gone] = goes()
	r.changed(gone)
	r.progress.moved(sets.New("late", "failed"))
	r.progress.begin(late)
	r.progress.begin(failed)
	r.progress.end(failed, errors.New("no"))
	r.active = false
	r.look()
	delete(r.world.copies, gone)
	r.active = true
	r.look()
	if r.held() != 0 {
		t.Errorf("%d are held of which nobody knows", r.held())
	}
	for _, ns := range []string{"late", "failed"} {
		if complete, problem, known := r.progress.of(ns); !complete || problem != "" || !known {
			t.Errorf("of %s it is said: %t, %q, %t", ns, complete, problem, known)
		}
	}
}
