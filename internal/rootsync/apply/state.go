// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// State is how things are now.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{
		Version: e.current.Version, Stage: e.stage, Removed: e.removed, Missing: map[string][]object.ID{}, Inventory: e.inventory,
		Settled: e.next == nil && (e.stage == Settled && e.recorded || e.refused != nil && e.stage == Idle),
		Errors:  slices.Clone(e.graphErrs),
	}
	for _, err := range []*knv.Error{e.refused, e.trouble, e.tooMany} {
		if err != nil {
			s.Errors = append(s.Errors, err)
		}
	}
	for id, it := range e.items {
		s.Progress.count(it)
		if it.err != nil {
			s.Errors = append(s.Errors, it.err)
		}
		if it.isDeclared() && it.missing != "" {
			s.Missing[it.missing] = append(s.Missing[it.missing], id)
		}
	}
	for _, ids := range s.Missing {
		slices.SortFunc(ids, object.ID.Compare)
	}
	s.Errors = knv.Sorted(s.Errors)
	return s
}

func (p *Progress) count(it *item) {
	if !it.isDeclared() {
		if it.outcome != gone {
			p.Going++
		}
		return
	}
	p.Declared++
	switch {
	case it.outcome == failed, it.outcome == conflict, it.outcome == kept, it.ready == broken:
		p.Failed++
	case it.outcome == skipped:
		p.Skipped++
	case !it.settled(), it.ready == timedOut:
		p.Waiting++
	default:
		p.Ready++
	}
}

// report writes into the inventory what became of the objects. That they are too many for
// it stops nothing.
func (e *Engine) report(ctx context.Context, statuses []group.Status) error {
	err := e.bounded(ctx, func(ctx context.Context) error { return e.store.WriteStatus(ctx, statuses, e.o.Clock.Now()) })
	var tooMany *knv.Error
	if errors.As(err, &tooMany) {
		err = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !sameError(e.tooMany, tooMany) {
		e.tooMany = tooMany
		e.o.Changed()
	}
	return err
}

// hash is how many letters of a commit name it.
const hash = 7

// statuses are what became of the objects, in the words of a ResourceGroup.
func (e *Engine) statuses() []group.Status {
	out := make([]group.Status, 0, len(e.items))
	for id, it := range e.items {
		if it.outcome == gone || it.isDeclared() && it.want.Disabled {
			continue
		}
		seen, known := e.o.Live.Seen(id)
		if !known || seen != nil { // of what has gone the last answer tells nothing
			seen = it.newest(seen)
		}
		s := group.Status{ID: id, Status: string(statusOf(seen)), Strategy: "Apply"}
		if !it.isDeclared() {
			s.Strategy = "Delete"
		}
		if seen != nil {
			s.SourceHash = seen.Version.Commit[:min(hash, len(seen.Version.Commit))]
		}
		s.Actuation, s.Reconcile = words(it)
		out = append(out, s)
	}
	return out
}

func words(it *item) (actuation, reconcile string) {
	const (
		pends    = "Pending"
		succeeds = "Succeeded"
		skips    = "Skipped"
		fails    = "Failed"
		times    = "Timeout"
	)
	switch {
	case it.outcome == open && !it.isDeclared() && it.deleted != "" && it.refused == nil:
		return succeeds, pends // it goes
	case it.outcome == open:
		return pends, pends
	case it.outcome == failed, it.refused != nil:
		return fails, skips
	case it.outcome == skipped, it.outcome == conflict, it.outcome == kept && it.ready != timedOut:
		return skips, skips
	case it.ready == ready:
		return succeeds, succeeds
	case it.ready == broken:
		return succeeds, fails
	case it.ready == timedOut:
		return succeeds, times
	}
	return succeeds, pends
}
