// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// wait waits for the watch of a kind, or for an object to be gone.
func (e *Engine) wait(it *item, f decide.Facts) call {
	if !f.Known && !f.Looked {
		return e.waitForKind(it, f)
	}
	if it.going.IsZero() {
		it.going = e.o.Clock.Now()
		e.soil()
	}
	rest := e.after(it.going, e.current.ReconcileTimeout)
	if rest > 0 {
		if f.Looked {
			rest = min(rest, e.o.Pauses.DeleteTold) // nobody tells
		}
		e.queue.AddAfter(it.id, rest)
		return nil
	}
	if it.isDeclared() {
		e.finish(it, failed, knv.New(knv.Applier, "failed to apply %s: it is still being deleted", it.id).About(it.about))
		return nil
	}
	var err *knv.Error
	if e.current.removal != "" {
		err = knv.New(knv.Applier, "failed to wait for %s: reconcile timeout: it is still being deleted", it.id).About(it.about)
	}
	e.finishAs(it, kept, timedOut, err)
	return nil
}

// waitForKind waits for the watch of a kind for a while. A kind that cannot be watched is
// looked at object by object.
func (e *Engine) waitForKind(it *item, f decide.Facts) call {
	if it.unknown.IsZero() {
		it.unknown = e.o.Clock.Now()
	}
	if rest := e.after(it.unknown, e.o.Pauses.UnwatchedObject); rest > 0 {
		e.queue.AddAfter(it.id, rest)
		return nil
	}
	return e.unlessPaused(it, e.look(it, f))
}

// kind is a kind that the API server serves; known is false as long as nobody knows what
// it serves.
func (e *Engine) kind(gk schema.GroupKind) (k inventory.Kind, served, known bool) {
	s := e.o.Kinds()
	if s == nil {
		return k, false, false
	}
	k, served = s.ByKind(gk)
	return k, served, true
}

// unserved deals with an object of a kind that is not served. Its definition may be on
// the way.
func (e *Engine) unserved(it *item) {
	waits, why := e.gate(it.id)
	switch {
	case it.want.Disabled:
		e.finish(it, gone, nil)
		return
	case why != "":
		e.skip(it, why)
		return
	case waits:
		return
	}
	if it.unknown.IsZero() {
		it.unknown = e.o.Clock.Now()
	}
	if rest := e.after(it.unknown, e.o.Pauses.UnwatchedObject); rest > 0 && len(e.graph.Needs(it.id)) > 0 {
		e.queue.AddAfter(it.id, rest)
		return
	}
	it.wrote, it.answer = nil, nil
	e.finish(it, failed, knv.New(knv.UnknownKind, "No CustomResourceDefinition is defined for the type %q in the cluster.\n"+
		"Resource types that are not native Kubernetes objects must have a CustomResourceDefinition.", it.id.GroupKind()).About(it.about))
}

// skip takes in that an object cannot be applied because of another.
func (e *Engine) skip(it *item, why string) {
	e.finish(it, skipped, knv.New(knv.Applier, "%s", plan.SkippedApply(it.id, why)).About(it.about))
}

// finish takes in what became of an object.
func (e *Engine) finish(it *item, o outcome, err *knv.Error) { e.finishAs(it, o, pending, err) }

func (e *Engine) finishAs(it *item, o outcome, r readiness, err *knv.Error) {
	if it.outcome == o && it.ready == r && sameError(it.err, err) {
		return
	}
	it.outcome, it.ready, it.err = o, r, err
	if o == gone {
		it.wrote, it.answer = nil, nil
	}
	e.moved(it)
}

func sameError(a, b *knv.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Code == b.Code && a.Text == b.Text
}

// moved tells those who wait for an object, and people.
func (e *Engine) moved(it *item) {
	if e.graph != nil {
		for _, id := range e.graph.NeededBy(it.id) {
			if n := e.items[id]; n != nil && n.outcome != done {
				e.queue.Add(id)
			}
		}
	}
	if e.pruning != nil {
		for _, id := range e.pruning.Needs(it.id) {
			if n := e.items[id]; n != nil && !n.isDeclared() {
				e.queue.Add(id)
			}
		}
	}
	if e.stage != Settled && e.allSettled() {
		e.queue.Add(house)
	}
	e.soil()
	e.o.Changed()
}

// soil has the inventory looked at again before long, once all is settled, or while something goes.
func (e *Engine) soil() {
	if (e.stage == Settled || e.stage == Pruning) && !e.dirty {
		e.dirty = true
		e.queue.AddAfter(house, e.o.Pauses.InventoryCalm)
	}
}

// allSettled says whether the stage is over.
func (e *Engine) allSettled() bool {
	for _, it := range e.items {
		if it.isDeclared() == (e.stage == Applying) && !it.settled() {
			return false
		}
	}
	return true
}
