// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// keepHouse does what concerns the RootSync as a whole: it puts a declaration into force,
// goes on to the next stage, and writes the inventory.
func (e *Engine) keepHouse(ctx context.Context) {
	err := e.load(ctx)
	if err == nil {
		err = e.accept(ctx)
	}
	if err == nil {
		err = e.advance(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.trouble, e.failures = nil, 0
		return
	}
	e.failures++
	e.queue.AddAfter(house, backoff(e.failures))
	if passing(err) && e.failures < surfaced {
		return
	}
	trouble := knv.New(knv.APIServer, "%v", err).Because(err)
	_ = errors.As(err, &trouble)
	if !sameError(e.trouble, trouble) {
		e.trouble = trouble
		e.o.Changed()
	}
}

// bounded bounds a call that the house makes.
func (e *Engine) bounded(ctx context.Context, do func(context.Context) error) error {
	e.mu.Lock()
	timeout := e.current.CallTimeout
	e.mu.Unlock()
	if timeout == 0 {
		timeout = DefaultCallTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx)
}

// load reads the inventory once.
func (e *Engine) load(ctx context.Context) error {
	if e.loaded {
		return nil
	}
	if err := e.bounded(ctx, e.store.Load); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loaded = true
	e.stored()
	for _, id := range e.inventory {
		e.items[id] = newItem(id)
		e.items[id].inventoried = true
	}
	e.o.Changed()
	return nil
}

func newItem(id object.ID) *item {
	it := &item{id: id, about: knv.Resource{Namespace: id.Namespace, Name: id.Name}}
	it.about.GVK.Group, it.about.GVK.Kind = id.Group, id.Kind
	return it
}

// stored takes in what the inventory has now.
func (e *Engine) stored() {
	former := e.inventory
	if e.inventory = e.store.IDs(); !slices.Equal(former, e.inventory) {
		e.o.Changed()
	}
	for _, it := range e.items {
		_, it.inventoried = slices.BinarySearchFunc(e.inventory, it.id, object.ID.Compare)
		if it.wanted && it.inventoried {
			it.wanted = false
			e.queue.Add(it.id)
		}
	}
}

// accept puts the next declaration into force, once the inventory has all of its objects:
// whatever happens after that, none can be forgotten.
func (e *Engine) accept(ctx context.Context) error {
	e.mu.Lock()
	next := e.next
	e.mu.Unlock()
	if next == nil {
		return nil
	}
	if e.turnedDown(next) {
		return nil
	}
	all := e.store.IDs()
	for _, d := range next.Objects {
		if id := d.ID(); !d.Disabled() && !e.contested(id) {
			all = append(all, id)
		}
	}
	if err := e.bounded(ctx, func(ctx context.Context) error { return e.store.Write(ctx, all, next.WithStatus) }); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != next {
		e.queue.Add(house) // it was overtaken
		return nil
	}
	e.next = nil
	e.force(next)
	e.stored()
	e.o.Changed()
	return nil
}

// turnedDown says whether a declaration must not come into force, and takes that in.
func (e *Engine) turnedDown(next *Declaration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.guard(next)
	if err == nil {
		return false
	}
	if e.next == next {
		e.next, e.held = nil, next // another may yet take over what would be lost
	}
	e.refused = err
	e.o.Changed()
	return true
}

// formerly are the objects that were declared before: after a start those that were in
// the inventory. What another has taken over is not lost.
func (e *Engine) formerly() (ids []object.ID) {
	if e.stage == Idle {
		return slices.DeleteFunc(slices.Clone(e.inventory), e.anothers)
	}
	for id, it := range e.items {
		if it.managed() && !e.anothers(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// guard says why a declaration must not come into force.
func (e *Engine) guard(d *Declaration) *knv.Error {
	former := slices.DeleteFunc(e.formerly(), func(id object.ID) bool { return slices.Contains(d.Kept, id) })
	switch {
	case d.removal != "":
		return nil
	case d.Guard != nil:
		return d.Guard(former, d.Objects)
	}
	return plan.KeepNamespaces(former, d.Objects)
}

func (e *Engine) anothers(id object.ID) bool {
	owner := e.o.Standing(id).Owner
	return owner != "" && owner != e.o.Sync
}

// contested reports whether the RootSync does not own an object that it declares, or not yet. It gets into the inventory
// before it is written.
func (e *Engine) contested(id object.ID) bool {
	s := e.o.Standing(id)
	return s.Owner != e.o.Sync && (s.Owner != "" || s.Lacks || s.Open)
}

// force puts a declaration into force.
func (e *Engine) force(d *Declaration) {
	again := e.current.Version == d.Version && e.current.removal == d.removal && e.current.ReconcileTimeout == d.ReconcileTimeout
	e.current, e.stage, e.removed, e.refused, e.pruning = *d, Applying, false, nil, nil
	e.current.Objects = nil // the items have them
	var nodes []plan.Node
	declared := make(map[object.ID]bool, len(d.Objects))
	for i := range d.Objects {
		one := &d.Objects[i]
		id := one.ID()
		declared[id] = true
		it := e.items[id]
		if it == nil {
			it = newItem(id)
			e.items[id] = it
		}
		it.declare(one, decide.WantOf(*one, e.o.Sync, d.Version, d.Exact), again)
		if !it.want.Disabled {
			nodes = append(nodes, plan.NodeOf(*one))
		}
	}
	e.graph, e.graphErrs = plan.Build(nodes)
	ids := make([]object.ID, 0, len(e.items))
	for id, it := range e.items {
		if !declared[id] {
			it.undeclare()
		}
		ids = append(ids, id)
	}
	for _, id := range plan.Order(ids) {
		e.queue.Add(id)
	}
	e.queue.Add(house)
}
