// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// facts are what is known of an object now.
func (e *Engine) facts(it *item) decide.Facts {
	f := decide.Facts{ID: it.id, Sync: e.o.Sync, Wrote: it.wrote, Lagging: it.told == it.toldAt, Standing: e.o.Standing(it.id)}
	f.Seen, f.Known = e.o.Live.Seen(it.id)
	// What was answered counts where the watch cannot tell, for a while.
	if f.Seen == nil && (it.looked || !f.Known && it.answer != nil && e.after(it.answered, e.o.Pauses.UnwatchedLook) > 0) {
		f.Seen, f.Looked = it.answer, true
	}
	it.looked = false
	var labels map[string]string
	if it.isDeclared() {
		labels = it.declared.Object.GetLabels()
	}
	f.OutOfScope = !e.o.InScope(it.id, labels)
	f.MayBeCopy = f.Seen == nil && !f.Looked && e.o.Copies(it.id, "")
	f.CopyOf = e.copyOf(it.id, f.Seen)
	if f.Known {
		it.unknown = time.Time{}
	}
	return f
}

// copyOf returns the namespace from which a hierarchy has copied an object; empty if it is no copy, whatever its label says.
func (e *Engine) copyOf(id object.ID, seen *live.Seen) string {
	if seen == nil || seen.InheritedFrom == "" || !e.o.Copies(id, seen.InheritedFrom) {
		return ""
	}
	return seen.InheritedFrom
}

// declared says what is to be done about an object that is declared.
func (e *Engine) declared(it *item) call {
	if !it.want.Disabled && e.graph.Bad(it.id) != nil {
		e.finish(it, failed, nil) // the error is the graph's
		return nil
	}
	if _, served, known := e.kind(it.id.GroupKind()); !served {
		if known { // otherwise ObserveKinds comes
			e.unserved(it)
		}
		return nil
	}
	f := e.facts(it)
	v := decide.Declared(f, it.want)
	switch v.Action {
	case decide.Apply, decide.DryRunFirst, decide.ApplyMetadata:
		return e.write(it, f, v)
	case decide.Nothing:
		e.fine(it, f)
		return nil
	}
	return e.common(it, f, v)
}

// common does what is the same for objects that are declared and that are not.
func (e *Engine) common(it *item, f decide.Facts, v decide.Verdict) call {
	switch v.Action {
	case decide.Wait:
		return e.wait(it, f)
	case decide.Ask:
		e.unanswered(it)
	case decide.Look:
		return e.unlessPaused(it, e.look(it, f))
	case decide.Abandon:
		return e.unlessPaused(it, e.abandon(it, ""))
	case decide.Conflict:
		it.wrote = nil // whatever it was, another writes it now
		e.finish(it, conflict, knv.New(v.Code, "%s", v.Why).About(it.about))
		if f.Looked { // nobody tells when that is over
			e.queue.AddAfter(it.id, e.o.Pauses.RefusedAgain)
		}
	case decide.Keep:
		e.finish(it, kept, knv.New(v.Code, "%s", v.Why).About(it.about))
	case decide.HandOver:
		e.handOver(it, v)
	case decide.Gone:
		e.finish(it, gone, nil)
	}
	return nil
}

// unanswered waits for an answer that somebody else has asked for, and reports an error if there is none.
func (e *Engine) unanswered(it *item) {
	err := e.o.Unanswered()
	switch {
	case err == nil: // the answer wakes it
	case it.isDeclared():
		e.finish(it, failed, knv.New(knv.APIServer, "failed to apply %s: %v", it.id, err).About(it.about).Because(err))
	default:
		e.finish(it, kept, knv.New(knv.APIServer, "%s", e.removing(it.id, err)).About(it.about).Because(err))
	}
}

// handOver waits until the other has taken the object over, and tells people only if that
// takes long and holds up the end of the RootSync.
func (e *Engine) handOver(it *item, v decide.Verdict) {
	var err *knv.Error
	if e.current.removal != "" {
		if it.going.IsZero() {
			it.going = e.o.Clock.Now()
		}
		if rest := e.after(it.going, e.o.Pauses.DeleteTold); rest > 0 {
			e.queue.AddAfter(it.id, rest)
		} else {
			err = knv.New(knv.Applier, "%s", v.Why).About(it.about)
		}
	}
	e.finish(it, kept, err)
}

// write writes an object, if it is its turn.
func (e *Engine) write(it *item, f decide.Facts, v decide.Verdict) call {
	if !v.Drift {
		if waits, why := e.gate(it.id); why != "" {
			e.skip(it, why)
			return nil
		} else if waits {
			return nil // until what it needs tells
		}
	} else if e.fights(it, f) {
		return nil
	}
	if !it.inventoried {
		it.wanted = true
		e.queue.Add(house)
		return nil
	}
	switch v.Action {
	case decide.DryRunFirst:
		return e.unlessPaused(it, e.dryRun(it, f.Seen))
	case decide.ApplyMetadata:
		return e.unlessPaused(it, e.mark(it))
	}
	return e.unlessPaused(it, e.apply(it, v.Drift))
}

func (e *Engine) unlessPaused(it *item, do call) call {
	if rest := it.until.Sub(e.o.Clock.Now()); rest > 0 {
		e.queue.AddAfter(it.id, rest)
		return nil
	}
	return do
}

// fights says whether somebody changes the object so often that it is left for a while.
func (e *Engine) fights(it *item, f decide.Facts) bool {
	now, seen := e.o.Clock.Now(), ""
	if f.Seen != nil {
		seen = f.Seen.ResourceVersion
	} else if it.wrote != nil {
		seen = "none after " + it.wrote.ResourceVersion
	}
	it.fight.changed(seen, now)
	rest := it.fight.rests(now)
	if rest > 0 {
		e.queue.AddAfter(it.id, rest)
		e.complain(it)
	}
	return rest > 0
}

// complain says whether there is a fight about an object that is there.
func (e *Engine) complain(it *item) {
	err := it.fight.err(e.o.Clock.Now())
	if err != nil {
		e.queue.AddAfter(it.id, cool/4) // it may be over
		err = err.About(it.about)
	}
	if !sameError(it.err, err) {
		it.err = err
		e.o.Changed()
	}
}

// gate says whether an object has to wait for others, or why it is skipped.
func (e *Engine) gate(id object.ID) (waits bool, why string) {
	for _, on := range e.graph.Needs(id) {
		n := e.items[on]
		if n == nil || n.outcome == done && n.ready == ready {
			continue
		}
		exists := !e.graph.Named(id, on) && e.exists(on)
		switch {
		case !n.settled():
			// A kind may have to change before an object of it can be applied; a namespace
			// need only be there.
			waits = waits || !exists || plan.IsCRD(on)
		case !exists:
			return false, because(n).Because(on)
		}
	}
	return waits, ""
}

func because(n *item) plan.Why {
	switch {
	case n.outcome == skipped:
		return plan.ApplySkipped
	case n.ready == broken:
		return plan.ReconcileFailed
	case n.ready == timedOut:
		return plan.ReconcileTimeout
	}
	return plan.ApplyFailed
}

func (e *Engine) exists(id object.ID) bool {
	seen, _ := e.o.Live.Seen(id)
	return seen != nil && statusOf(seen) == status.CurrentStatus
}

// fine takes in that an object is as declared; it may still have to become ready.
func (e *Engine) fine(it *item, f decide.Facts) {
	now := e.o.Clock.Now()
	if it.since.IsZero() {
		it.since = now
	}
	if !f.Known {
		e.queue.AddAfter(it.id, e.o.Pauses.UnwatchedLook) // nobody tells when it changes
	}
	is := it.ready
	switch s := statusOf(it.newest(f.Seen)); {
	case is == ready: // what comes later is not about the declaration
	case s == status.CurrentStatus:
		is = ready
	case s == status.FailedStatus:
		is = broken
	case e.after(it.since, e.current.ReconcileTimeout) <= 0:
		is = timedOut
	default:
		is = pending
		e.queue.AddAfter(it.id, e.after(it.since, e.current.ReconcileTimeout))
	}
	moved := it.outcome != done || it.ready != is
	it.outcome, it.ready, it.failures, it.missing, it.going = done, is, 0, "", time.Time{}
	if it.err != nil && it.err.Code != knv.Fight {
		it.err = nil
	}
	e.complain(it)
	if moved {
		e.moved(it)
	} else {
		e.soil()
	}
}

// newest is an object as the watch, or the last answer, has it.
func (it *item) newest(seen *live.Seen) *live.Seen {
	if it.answer != nil && (seen == nil || seen.Older(it.answer.ResourceVersion)) {
		return it.answer
	}
	return seen
}
