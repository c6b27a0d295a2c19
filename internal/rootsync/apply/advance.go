// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// advance goes on to the next stage where one is over, and writes the inventory where it
// has to be.
func (e *Engine) advance(ctx context.Context) error {
	ids, statuses, due := e.due()
	if !due {
		return nil
	}
	err := e.record(ctx, ids, statuses)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.dirty = true // it is tried again
	case e.stage == Settled && !e.recorded:
		e.recorded = true
		e.o.Changed()
	}
	return err
}

// record writes the inventory and the statuses, or deletes it with the last object.
func (e *Engine) record(ctx context.Context, ids []object.ID, statuses []group.Status) error {
	if err := e.bounded(ctx, func(ctx context.Context) error { return e.store.Write(ctx, ids, statuses != nil) }); err != nil {
		return err
	}
	if e.forget() {
		return e.vanish(ctx)
	}
	if statuses == nil && !e.store.HasStatus() {
		return nil
	}
	return e.report(ctx, statuses)
}

// forget takes in what was written, and says whether that was the last of a RootSync that
// goes.
func (e *Engine) forget() (last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stored()
	for id, it := range e.items {
		if it.outcome == gone && !it.isDeclared() && !it.inventoried {
			delete(e.items, id)
		}
	}
	return e.stage == Settled && e.next == nil && e.current.removal != "" && len(e.items) == 0
}

// due is what the inventory should have now; false if it need not be looked at.
func (e *Engine) due() (ids []object.ID, statuses []group.Status, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wanted := e.wanted()
	if e.stage == Applying && e.allSettled() {
		e.prune()
	}
	if e.stage == Pruning && e.allSettled() {
		e.stage, e.dirty, e.recorded = Settled, true, false
		for id := range e.strangers {
			e.queue.Add(id)
		}
		clear(e.strangers)
	}
	switch {
	case e.stage == Settled && e.dirty:
		e.dirty = false
		ids = append(e.left(), wanted...)
	case e.stage == Pruning && e.dirty: // what takes long to go is to be seen
		e.dirty = false
		ids = append(slices.Clone(e.inventory), wanted...)
	case len(wanted) > 0:
		ids = append(slices.Clone(e.inventory), wanted...)
	default:
		return nil, nil, false
	}
	if e.current.WithStatus {
		statuses = e.statuses()
	}
	return ids, statuses, true
}

// wanted are the objects that wait for the inventory to have them.
func (e *Engine) wanted() (ids []object.ID) {
	for id, it := range e.items {
		if it.wanted {
			ids = append(ids, id)
		}
	}
	return ids
}

// left are the objects of which the sync has something.
func (e *Engine) left() (ids []object.ID) {
	for id, it := range e.items {
		switch {
		case it.outcome == gone, it.outcome == conflict, it.isDeclared() && it.want.Disabled, !it.isDeclared() && !it.inventoried:
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// prune begins with what is declared no longer: all that is declared was tried.
func (e *Engine) prune() {
	e.stage = Pruning
	var nodes []plan.Node
	var ids []object.ID
	for id, it := range e.items {
		if it.managed() {
			nodes = append(nodes, plan.NodeOf(*it.declared))
			continue
		}
		if it.isDeclared() {
			continue
		}
		nodes = append(nodes, e.goingNode(it))
		if ids = append(ids, id); it.outcome == kept || it.outcome == failed {
			it.outcome, it.ready = open, pending // it is decided anew
		}
	}
	e.pruning, _ = plan.Build(nodes) // what is wrong there was said of the declaration
	ids = plan.Order(ids)
	slices.Reverse(ids)
	for _, id := range ids {
		e.queue.Add(id)
	}
	e.o.Changed()
}

// goingNode is what is known of an object that is not declared any more about others.
func (e *Engine) goingNode(it *item) plan.Node {
	n := plan.Node{ID: it.id, About: it.about}
	if seen, _ := e.o.Live.Seen(it.id); seen != nil {
		n.DependsOn, _ = plan.References(seen.DependsOn) // it was applied once, and is not any more
	}
	if plan.IsCRD(it.id) {
		if s := e.o.Kinds(); s != nil {
			kind, _ := s.ByResource(schema.ParseGroupResource(it.id.Name))
			n.Defines = schema.GroupKind{Group: kind.Resource.Group, Kind: kind.Kind}
		}
	}
	return n
}

// vanish deletes the inventory, when nothing is left.
func (e *Engine) vanish(ctx context.Context) error {
	if err := e.bounded(ctx, e.store.Delete); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.removed, e.inventory = true, []object.ID{}
	e.o.Changed()
	return nil
}
