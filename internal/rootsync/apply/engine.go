// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// Engine keeps the objects of one RootSync.
type Engine struct {
	o     Options
	queue workqueue.TypedDelayingInterface[object.ID]
	// store is used by one call at a time, that for house.
	store *group.Store

	mu sync.Mutex
	// next is what was set and is not in force yet, and held what was refused.
	next    *Declaration
	held    *Declaration
	current Declaration
	stage   Stage
	loaded  bool
	removed bool
	items   map[object.ID]*item
	// strangers are objects that are in no declaration and no inventory, which are looked
	// at once all is settled.
	strangers map[object.ID]bool
	// graph has the edges of what is declared, and pruning those of what goes as well.
	graph, pruning *plan.Graph
	// graphErrs are about the declaration, refused about one that is not in force, and
	// trouble and tooMany about the inventory.
	graphErrs                 []*knv.Error
	refused, trouble, tooMany *knv.Error
	inventory                 []object.ID
	failures                  int
	// dirty says that the inventory may have to be written, recorded that it was since the stage is Settled: only then it
	// is known whether it has room for what became of each object.
	dirty, recorded bool
}

// house stands in the queue for the RootSync as a whole.
var house = object.ID{}

// call does something that takes time.
type call func(context.Context)

// New makes an Engine that does nothing until something is Set.
func New(o Options) *Engine {
	if o.Inventory == nil {
		o.Inventory = o.Client
	}
	if o.Standing == nil {
		o.Standing = func(object.ID) object.Standing { return object.Standing{} }
	}
	if o.Unanswered == nil {
		o.Unanswered = func() error { return nil }
	}
	if o.Forbidden == nil {
		o.Forbidden = func(object.ID) {}
	}
	if o.InUse == nil {
		o.InUse = func(object.ID) Use { return Use{} }
	}
	if o.InScope == nil {
		o.InScope = func(object.ID, map[string]string) bool { return true }
	}
	if o.Left == nil {
		o.Left = func(object.ID, string) {}
	}
	if o.Copies == nil {
		o.Copies = func(object.ID, string) bool { return false }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Did == nil {
		o.Did = func(Deed) {}
	}
	return &Engine{
		o: o, store: group.New(o.Inventory, o.Sync), stage: Idle, items: map[object.ID]*item{}, strangers: map[object.ID]bool{},
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[object.ID]{Clock: o.Clock}),
	}
}

// Run works until the context ends, and returns when no call is under way any more.
func (e *Engine) Run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	stop := context.AfterFunc(ctx, e.queue.ShutDown)
	defer stop()
	for {
		id, ended := e.queue.Get()
		if ended {
			return
		}
		do := e.decide(id)
		if do == nil {
			e.queue.Done(id)
			continue
		}
		if err := e.o.Slots.Acquire(ctx, 1); err != nil {
			e.queue.Done(id)
			return // the context has ended
		}
		calls.Go(func() {
			defer e.queue.Done(id)
			defer e.o.Slots.Release(1)
			do(ctx)
		})
	}
}

// decide says what is to be called for; nil if nothing.
func (e *Engine) decide(id object.ID) call {
	if id == house {
		return e.keepHouse
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	it := e.items[id]
	if it == nil {
		it = e.stranger(id)
	}
	switch {
	case it == nil || e.stage == Idle:
		return nil
	case it.isDeclared():
		return e.declared(it)
	case e.stage == Applying:
		return nil // its turn comes
	}
	return e.undeclared(it)
}

// Set replaces what is declared. It does not block.
func (e *Engine) Set(d Declaration) {
	d.defaults()
	e.set(d)
}

// Remove deletes the objects of the RootSync, or removes its marks from them. It does not block. A removal that is in progress
// continues: a caller that Options.Changed wakes may call Remove each time.
func (e *Engine) Remove(how Removal, d Declaration) {
	d.defaults()
	d.Objects, d.Held, d.Kept, d.removal = nil, nil, nil, how
	if !e.removes(&d) {
		e.set(d)
	}
}

// removes reports whether a removal is the last that was asked for.
func (e *Engine) removes(d *Declaration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := &e.current
	if e.next != nil {
		last = e.next
	}
	return last.removal == d.removal && last.ReconcileTimeout == d.ReconcileTimeout && last.CallTimeout == d.CallTimeout
}

func (e *Engine) set(d Declaration) {
	e.mu.Lock()
	e.next, e.held, e.failures = &d, nil, 0
	e.mu.Unlock()
	e.queue.Add(house)
}

// Observe tells that the watch has something new about an object, or that whose it may
// be, or who uses it, has changed. It does not block.
func (e *Engine) Observe(id object.ID) {
	e.mu.Lock()
	if it := e.items[id]; it != nil {
		it.told++
	}
	e.mu.Unlock()
	e.Reconsider(id)
}

// Reconsider queues an object that has not changed itself. It does not block.
func (e *Engine) Reconsider(id object.ID) {
	e.mu.Lock()
	if id.IsNamespace() && e.held != nil && e.guard(e.held) == nil {
		e.next, e.held = e.held, nil
		e.queue.Add(house)
	}
	e.mu.Unlock()
	e.queue.Add(id)
}

// ObserveKind tells that the watch of a kind has begun, or cannot. It does not block.
func (e *Engine) ObserveKind(gk schema.GroupKind) {
	e.wake(func(it *item) bool { return it.id.GroupKind() == gk })
}

// ObserveKinds tells that the API server serves other kinds than before. It does not
// block.
func (e *Engine) ObserveKinds() {
	e.wake(func(it *item) bool { return it.outcome == open || it.outcome == failed || !it.unknown.IsZero() })
}

// ObserveNamespace tells that a namespace has appeared. It does not block.
func (e *Engine) ObserveNamespace(name string) {
	e.wake(func(it *item) bool {
		if it.id.Namespace == name {
			it.came++
		}
		waits := it.missing == name || it.id.Namespace == name && it.outcome == failed
		if waits {
			it.until = time.Time{}
		}
		return waits
	})
}

// ObserveScope tells that a namespace may have come into the scope of the configuration, or
// left it; an empty name stands for any. It does not block.
func (e *Engine) ObserveScope(namespace string) {
	e.wake(func(it *item) bool {
		return namespace == "" || it.id.Namespace == namespace || it.id == object.NamespaceID(namespace)
	})
}

// ObserveProtection tells that what keeps a namespace from being deleted has changed. An
// object that would take it along can have been refused for that, and has no label that would
// tell: an anchor is refused by what is in its subnamespace, or below. It does not block.
func (e *Engine) ObserveProtection(namespace string) {
	e.wake(func(it *item) bool {
		if it.refused == nil || !strings.Contains(it.refused.text, strconv.Quote(namespace)) {
			return false
		}
		it.refused, it.until = nil, time.Time{}
		return true
	})
}

func (e *Engine) wake(which func(*item) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, it := range e.items {
		if which(it) {
			e.queue.Add(it.id)
		}
	}
}

// backoff is the pause after a number of failures in a row, with some jitter.
func backoff(failures int) time.Duration {
	pause := firstRetry
	for range failures - 1 {
		if pause *= 2; pause >= lastRetry {
			pause = lastRetry
			break
		}
	}
	return wait.Jitter(pause/2, 1)
}

// after is the rest of a time that began at some moment.
func (e *Engine) after(since time.Time, d time.Duration) time.Duration {
	return since.Add(d).Sub(e.o.Clock.Now())
}
