// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// stranger is the item of an object that is in no declaration and no inventory, and has
// all that an object of this RootSync has; nil if it has not.
func (e *Engine) stranger(id object.ID) *item {
	seen, _ := e.o.Live.Seen(id)
	if seen == nil || seen.Manager != e.o.Sync.Manager() || seen.ApplySet != e.o.Sync.ApplySet() {
		return nil
	}
	if e.stage != Settled {
		e.strangers[id] = true // it may be declared in a moment
		return nil
	}
	it := newItem(id)
	e.items[id] = it
	return it
}

// undeclared says what is to be done about an object that is not declared any more.
func (e *Engine) undeclared(it *item) call {
	if slices.Contains(e.current.Held, it.id.GroupKind()) || slices.Contains(e.current.Kept, it.id) {
		e.finish(it, kept, nil)
		return nil
	}
	if _, served, known := e.kind(it.id.GroupKind()); !served {
		if known {
			e.goneWithKind(it)
		}
		return nil
	}
	f := e.facts(it)
	if it.outcome == gone && f.Seen == nil || e.awaitsDelete(it, f) {
		return nil
	}
	g, waits, open := e.going(it, f)
	v := decide.Undeclared(f, g)
	switch {
	case v.Action == decide.Abandon:
		return e.unlessPaused(it, e.abandon(it, g.KeptBy))
	case v.Action != decide.Delete:
		return e.common(it, f, v)
	case open:
		e.unanswered(it)
		return nil
	case waits:
		return nil // until the others tell
	}
	return e.unlessPaused(it, e.remove(it, f))
}

// going collects what keeps an object from being deleted; waits says that others go first, and open that it is not known
// yet who uses it.
func (e *Engine) going(it *item, f decide.Facts) (g decide.Going, waits, open bool) {
	g = decide.Going{Inventoried: it.inventoried, Orphan: e.current.removal == Orphan}
	if it.watched {
		g.Deleted = it.deleted
	}
	if !g.Orphan {
		g.InUse, g.KeptBy, open = e.inUse(it.id)
		g.Refusal, g.Code = e.refusal(it, f)
		waits, g.Needed = e.needed(it.id)
	}
	return g, waits, open
}

// goneWithKind takes in that the kind of an object is gone, and the object with it, unless
// the kind is back in a moment.
func (e *Engine) goneWithKind(it *item) {
	if it.unknown.IsZero() {
		it.unknown = e.o.Clock.Now()
	}
	if rest := e.after(it.unknown, e.o.Pauses.UnwatchedObject); rest > 0 {
		e.queue.AddAfter(it.id, rest)
		return
	}
	e.finish(it, gone, nil)
}

// awaitsDelete says whether the watch has yet to tell of the object that was asked to go.
func (e *Engine) awaitsDelete(it *item, f decide.Facts) bool {
	if f.Looked || f.Seen == nil || f.Seen.UID != it.deleted || f.Seen.ResourceVersion != it.deletedAt && !f.Seen.Older(it.deletedAt) {
		return false
	}
	rest := e.after(it.since, e.o.Pauses.DeleteTold)
	if rest > 0 {
		e.queue.AddAfter(it.id, rest)
	}
	return rest > 0
}

// inUse says why a Namespace, or a CustomResourceDefinition, has to stay, and who keeps it otherwise; open says that it is not
// known yet whether it has to.
func (e *Engine) inUse(id object.ID) (why, keptBy string, open bool) {
	if !id.IsNamespace() && !plan.IsCRD(id) {
		return "", "", false
	}
	own := false
	for other, it := range e.items {
		own = own || id.IsNamespace() && other.Namespace == id.Name && it.isDeclared()
	}
	use := e.o.InUse(id)
	if !own {
		keptBy = strings.Join(use.KeptBy, ", ")
	}
	return plan.StillInUse(id, own, use.By), keptBy, use.Open
}

// refusal is what was answered when the object was asked to go, as long as nothing has
// changed that could change the answer.
func (e *Engine) refusal(it *item, f decide.Facts) (string, knv.Code) {
	if it.refused == nil || f.Seen == nil {
		return "", ""
	}
	rest := it.refused.until.Sub(e.o.Clock.Now())
	if rest <= 0 || !it.refused.stands(f.Seen) {
		it.refused, it.until = nil, time.Time{}
		return "", ""
	}
	e.queue.AddAfter(it.id, rest)
	return it.refused.text, it.refused.code
}

// needed says whether an object has to wait for others to go, or why it cannot go.
func (e *Engine) needed(id object.ID) (waits bool, why string) {
	if e.pruning == nil {
		return false, ""
	}
	for _, by := range e.pruning.NeededBy(id) {
		n := e.items[by]
		switch {
		case n == nil || e.pruning.Together(id, by) || n.outcome == gone:
		case n.isDeclared():
			if !id.IsNamespace() { // of which inUse says so
				return false, plan.StillDeclared.Because(by)
			}
		case !n.settled():
			waits = true
		case n.ready == timedOut:
			return false, plan.DeleteTimeout.Because(by)
		case n.refused != nil || n.outcome == failed:
			return false, plan.DeleteFailed.Because(by)
		default:
			return false, plan.DeleteSkipped.Because(by)
		}
	}
	return waits, ""
}

// refuse takes in that an object must not go, for a while.
func (e *Engine) refuse(it *item, seen *live.Seen, text string, cause error, pause time.Duration) {
	it.refused = &refusal{text: text, code: number(cause), of: seen, until: e.o.Clock.Now().Add(pause)}
	e.queue.AddAfter(it.id, pause)
	e.finish(it, kept, knv.New(it.refused.code, "%s", it.refused.text).About(it.about).Because(cause))
}

// removing is the text of an error about an object that cannot go.
func (e *Engine) removing(id object.ID, cause error) string {
	verb := "prune"
	if e.current.removal != "" {
		verb = "delete"
	}
	return "failed to " + verb + " " + id.String() + ": " + cause.Error()
}
