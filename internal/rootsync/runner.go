// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// runner is one RootSync. Whatever changes wakes it, and it looks at everything anew.
type runner struct {
	s      *Syncer
	sync   object.Sync
	uid    types.UID
	cancel context.CancelFunc
	ended  chan struct{}
	wakes  chan struct{}

	mu     sync.Mutex
	newest *configsyncv1beta1.RootSync
	engine *engine
	counts measure

	// The rest is for the goroutine of run alone.
	subscription *source.Subscription
	subscribed   source.Spec
	// asked is the last value that asked for a sync at once, and look is the look at the
	// source that follows from it.
	asked    string
	look     int
	content  *content
	declared *declared
	reporter reporter
	// known says that the engine was told of everything that is there and looks like its own.
	known bool
	// waiting is since when claims have to be written first.
	waiting time.Time
}

// engine is one that runs, until it is stopped.
type engine struct {
	*apply.Engine
	stop func()
}

func newRunner(s *Syncer, rs *configsyncv1beta1.RootSync) *runner {
	return &runner{
		s: s, sync: object.Sync(rs.Name), uid: rs.UID, ended: make(chan struct{}), wakes: make(chan struct{}, 1),
		counts: measure{standing: isSyncing, since: s.o.Clock.Now()},
	}
}

// tell hands over the newest form of the RootSync.
func (r *runner) tell(rs *configsyncv1beta1.RootSync) {
	r.mu.Lock()
	r.newest = rs
	r.mu.Unlock()
	r.wake()
}

// wake has the runner look at everything again. It never blocks.
func (r *runner) wake() {
	select {
	case r.wakes <- struct{}{}:
	default:
	}
}

func (r *runner) observe(id object.ID) {
	if e := r.runs(); e != nil {
		e.Observe(id)
	}
}

func (r *runner) observeNamespace(name string) {
	if e := r.runs(); e != nil {
		e.ObserveNamespace(name)
		e.Reconsider(object.NamespaceID(name)) // another may own it by now
	}
}

func (r *runner) runs() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine
}

// run looks whenever it is woken, until the context ends.
func (r *runner) run(ctx context.Context) {
	defer close(r.ended)
	defer r.unsubscribe()
	defer r.stop()
	timer := r.s.o.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wakes:
		case <-timer.C():
		}
		r.mu.Lock()
		rs := r.newest
		r.mu.Unlock()
		after := r.pass(ctx, rs)
		if after <= 0 {
			after = time.Hour
		}
		timer.Reset(after)
	}
}

// pass brings everything in line with what is known now, and returns when to look again
// if nothing happens; 0 for never.
func (r *runner) pass(ctx context.Context, rs *configsyncv1beta1.RootSync) time.Duration {
	if !r.s.arrived(ctx) {
		return r.s.o.Pauses.SyncAgain
	}
	settings, invalid := spec.Read(rs)
	if invalid == nil {
		invalid = r.s.refuses(settings)
	}
	reach := settings.Reach()
	if invalid != nil { // its bindings stay
		reach = object.Reach{Everywhere: true}
	}
	r.s.setReach(r.sync, reach)
	facts := report.Facts{Sync: r.sync, Generation: rs.Generation, Suspended: settings.Suspended}
	err := r.act(ctx, rs, settings, invalid, &facts)
	if ctx.Err() != nil {
		return 0 // it ends in the middle of something
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "RootSync cannot go on; it is tried again")
	}
	facts.Contested = r.contested(ctx, rs)
	r.measure(facts)
	r.reporter.patience = settings.ReconcileTimeout
	after := r.reporter.report(ctx, r.s, rs, facts)
	if after == 0 && err == nil {
		err = r.answer(ctx, rs, facts.Progress)
	}
	if err != nil && (after == 0 || after > r.s.o.Pauses.SyncAgain) {
		after = r.s.o.Pauses.SyncAgain
	}
	return after
}

// act reconciles a RootSync, and sets in the facts how far it has come.
func (r *runner) act(ctx context.Context, rs *configsyncv1beta1.RootSync, settings spec.Settings, invalid *knv.Error, facts *report.Facts) error {
	home := r.s.Home(ctx)
	away, inTree := errors.AsType[*namespaces.InTreeError](home)
	switch {
	case inTree:
		return r.away(ctx, rs, away, facts)
	case home != nil:
		return home
	case rs.DeletionTimestamp != nil:
		return r.remove(ctx, rs, settings, facts)
	case invalid != nil:
		facts.Stalled = &report.Stalled{Reason: configsyncv1beta1.ReasonValidation, Err: invalid}
		return r.undecided(ctx, rs)
	}
	return r.advance(ctx, rs, settings, facts)
}

func (r *runner) measure(f report.Facts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts = measured(f, r.counts, r.s.o.Clock.Now())
}

func (r *runner) measured() measure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// undecided says that nothing new is known of what the RootSync wants, so that others
// need not wait for it. What it has by its inventory is not lost to them meanwhile.
func (r *runner) undecided(ctx context.Context, rs *configsyncv1beta1.RootSync) error {
	if r.declared != nil || r.s.registry.Spoken(r.sync) {
		return nil
	}
	store := group.New(r.s.o.Dynamic, r.sync)
	if err := store.Load(ctx); err != nil {
		return fmt.Errorf("read what it has: %w", err)
	}
	ids := sets.New(store.IDs()...)
	has := sets.New[string]()
	for id := range ids {
		if id.IsNamespace() {
			has.Insert(id.Name)
			ids.Delete(id) // claims say whose a Namespace is
		} else if id.Namespace != "" {
			has.Insert(id.Namespace)
		}
	}
	r.s.tell(r.s.declarers.set(r.sync, rs.CreationTimestamp.Time, ids))
	r.s.registry.Excuse(r.sync, sets.List(has)...)
	r.s.stakesChanged(nil)
	return nil
}

// stop ends the engine, if there is one.
func (r *runner) stop() {
	r.mu.Lock()
	e := r.engine
	r.engine = nil
	r.mu.Unlock()
	if e != nil {
		e.stop()
	}
	r.declared, r.known = nil, false
}

func (r *runner) unsubscribe() {
	if r.subscription != nil {
		r.subscription.Close()
	}
	r.subscription, r.subscribed, r.content = nil, source.Spec{}, nil
}
