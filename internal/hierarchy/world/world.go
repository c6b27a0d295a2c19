// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Options of a World.
type Options struct {
	Dynamic dynamic.Interface
	// Kinds are those that the API server serves; nil while that is not known.
	Kinds func() *inventory.Snapshot
	// Settings reads the configuration, with what the HNCConfiguration excludes
	// beyond it; it must be safe for concurrent use.
	Settings func(excluded []string) (settings.Settings, error)
	// Changed is called with what may have to be written. It must not block.
	Changed func(Dirty)
	// Declared is called when the kinds that are copied, or whether the World is
	// ready, may be others.
	Declared func()
	Pauses   timing.Pauses
}

// World follows trees.
type World struct {
	o    Options
	wake chan struct{}

	queue struct {
		sync.Mutex
		events []event
		// suspects are the CRDs to ask for before the events are taken in.
		suspects sets.Set[inventory.ObjectSource]
		signal   chan struct{}
	}

	mu      sync.RWMutex
	state   *state // nil while nothing is followed
	view    atomic.Pointer[View]
	failing sync.Map // inventory.ObjectSource to string
}

// View is what was known at one moment.
type View struct {
	Settings  settings.Settings
	Tree      *tree.Tree
	Sources   *propagate.Sources
	Resources []Resource
	// External says that there are external namespaces.
	External bool
}

// ErrNotYet says that not everything has been read. Where it is wrapped, something
// cannot be read.
var ErrNotYet = errors.New("the trees of namespaces are not known yet")

// New makes a World.
func New(o Options) *World {
	w := &World{o: o, wake: make(chan struct{}, 1)}
	w.queue.signal = make(chan struct{}, 1)
	return w
}

// NeedLeaderElection is false: every replica has its own.
func (w *World) NeedLeaderElection() bool { return false }

// Wake asks for another look at the configuration and at the kinds that the API
// server serves. It never blocks.
func (w *World) Wake() { poke(w.wake) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// View is what is known now; an error says what is not known yet. Before the trees,
// what the HNCConfiguration excludes, and which kinds are copied, there is none.
func (w *World) View() (*View, error) {
	if v := w.view.Load(); v != nil {
		return v, nil
	}
	if failing := w.failures(func(inventory.ObjectSource) bool { return true }); failing != "" {
		return nil, fmt.Errorf("%w: %s", ErrNotYet, failing)
	}
	return nil, ErrNotYet
}

// Blind says what cannot be seen of the trees any more, since they were known; empty
// if all can. What is seen of kinds that are copied the HNCConfiguration says.
func (w *World) Blind() string {
	return w.failures(func(s inventory.ObjectSource) bool { return slices.Contains(base, s) })
}

// failures are the sources among some that cannot be read, and why.
func (w *World) failures(among func(inventory.ObjectSource) bool) string {
	var out []string
	w.failing.Range(func(key, err any) bool {
		if s, ok := key.(inventory.ObjectSource); ok && among(s) {
			out = append(out, fmt.Sprintf("%s: %s", s.Resource.GroupResource(), err))
		}
		return true
	})
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// fails notes that a source cannot be read. Why is what it was at first: texts can
// differ each time.
func (w *World) fails(s inventory.ObjectSource, err error) {
	if _, already := w.failing.LoadOrStore(s, err.Error()); !already {
		ctrl.Log.WithName("hierarchy").Error(err, "Objects cannot be watched", "resource", s.Resource.GroupResource().String())
		w.o.Declared()
	}
}

// works notes that it can.
func (w *World) works(s inventory.ObjectSource) {
	if _, did := w.failing.LoadAndDelete(s); did {
		w.o.Declared()
	}
}

// Start follows whenever the configuration wants it, until the context ends.
func (w *World) Start(ctx context.Context) error {
	for {
		if s, err := w.o.Settings(nil); err == nil && s.Follows() {
			w.follow(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
	}
}

// follow follows until the configuration does not want it any more.
func (w *World) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	session := &session{world: w, ctx: ctx}
	session.objects = inventory.NewObjects(w.o.Dynamic, session, keep, w.o.Pauses)
	defer func() {
		cancel()
		session.objects.Wait()
		w.leave()
	}()
	if !w.enter() {
		return
	}
	for _, s := range base {
		session.start(s)
	}
	signal := w.queue.signal
	var pause <-chan time.Time
	for w.align(session) {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-pause:
			signal, pause = w.queue.signal, nil
			poke(signal)
		case <-signal:
			if !w.take(ctx) {
				signal, pause = nil, time.After(askPause)
			}
		}
	}
}

func (w *World) enter() bool {
	s, err := w.o.Settings(nil)
	if err != nil {
		ctrl.Log.WithName("hierarchy").Error(err, "The configuration cannot be read")
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = newState(s)
	return true
}

func (w *World) leave() {
	w.mu.Lock()
	w.state = nil
	w.view.Store(nil)
	w.mu.Unlock()
	w.queue.Lock()
	w.queue.events, w.queue.suspects = nil, nil
	w.queue.Unlock()
	w.failing.Clear()
	w.o.Declared()
}

// take applies what has happened since. False says that it cannot be told yet what
// that means: then nothing is lost, and it is to be tried again.
func (w *World) take(ctx context.Context) bool {
	w.queue.Lock()
	events, suspects := w.queue.events, w.queue.suspects
	w.queue.events, w.queue.suspects = nil, nil
	w.queue.Unlock()
	going, err := w.ask(ctx, suspects)
	if err != nil {
		w.queue.Lock()
		w.queue.events, w.queue.suspects = append(events, w.queue.events...), suspects.Union(w.queue.suspects)
		w.queue.Unlock()
		return false
	}
	w.change(func(s *state, b *batch) {
		for _, of := range going {
			s.goneDefinition(of, b)
		}
		for _, e := range events {
			e(s, b)
		}
	})
	return true
}

// change changes the state and tells what follows from it.
func (w *World) change(edit func(*state, *batch)) {
	w.mu.Lock()
	b := newBatch()
	edit(w.state, b)
	dirty := w.state.settle(b)
	known := w.state.complete && w.state.resources != nil // which come after the settings
	first := w.view.Load() == nil && known
	declared := b.declared || first
	if known {
		w.view.Store(&View{
			Settings: w.state.settings, Tree: w.state.tree, Sources: w.state.sources, Resources: w.state.resources, External: w.state.external > 0,
		})
	}
	w.mu.Unlock()
	if declared {
		w.o.Declared()
	}
	if !dirty.empty() {
		w.o.Changed(dirty)
	}
}

// align brings in line what is followed with what the configuration wants. False
// says that nothing is.
func (w *World) align(session *session) bool {
	w.mu.RLock()
	var excluded []string
	var known bool
	if known = w.state.synced.Has(settingsOf); known && w.state.hnc != nil {
		excluded = w.state.hnc.Spec.ExcludedNamespaces
	}
	w.mu.RUnlock()
	s, err := w.o.Settings(excluded)
	switch {
	case err != nil:
		ctrl.Log.WithName("hierarchy").Error(err, "The configuration cannot be read")
		return true
	case s.Mode == configv1alpha1.ModeOff:
		return false
	}
	w.mu.RLock()
	same := w.state.settings.Equal(s)
	w.mu.RUnlock()
	if !same {
		w.change(func(st *state, b *batch) { st.setSettings(s, b) })
	}
	if kinds := w.o.Kinds(); known && kinds != nil {
		w.alignKinds(session, kinds)
	}
	return true
}

// alignKinds starts and stops to follow kinds.
func (w *World) alignKinds(session *session, kinds *inventory.Snapshot) {
	w.change(func(st *state, b *batch) {
		started, stopped := st.setResources(kinds, b)
		for _, s := range stopped {
			session.objects.Stop(s)
			w.failing.Delete(s)
		}
		for _, s := range started {
			session.start(s)
		}
	})
}

// event is something that happened.
type event func(*state, *batch)

// session is one time in which something is followed. It hears of objects.
type session struct {
	world   *World
	ctx     context.Context //nolint:containedctx // it is what ends the session
	objects *inventory.Objects
}

func (h *session) start(s inventory.ObjectSource) { h.objects.Start(h.ctx, s) }

func (h *session) tell(e event) { h.tellOf(inventory.ObjectSource{}, e) }

// tellOf tells of an object of a source that is not there any more, or soon will
// not be.
func (h *session) tellOf(s inventory.ObjectSource, e event) {
	if h.ctx.Err() != nil {
		return
	}
	q := &h.world.queue
	q.Lock()
	q.events = append(q.events, e)
	if crd, found := suspect(s); found {
		q.suspects = q.suspects.Union(sets.New(crd))
	}
	q.Unlock()
	poke(q.signal)
}

// Seen implements inventory.ObjectHandler.
func (h *session) Seen(s inventory.ObjectSource, o metav1.Object) {
	var of inventory.ObjectSource
	if o.GetDeletionTimestamp() != nil {
		of = s
	}
	h.tellOf(of, func(st *state, b *batch) { st.seen(s, o, b) })
}

// Gone implements inventory.ObjectHandler.
func (h *session) Gone(s inventory.ObjectSource, o metav1.Object, missed bool) {
	h.tellOf(s, func(st *state, b *batch) { st.gone(s, o, missed, b) })
}

// Synced implements inventory.ObjectHandler.
func (h *session) Synced(s inventory.ObjectSource) {
	h.world.works(s)
	h.tell(func(st *state, b *batch) { st.syncedNow(s, b) })
}

// Failed implements inventory.ObjectHandler.
func (h *session) Failed(s inventory.ObjectSource, err error) {
	h.world.fails(s, err)
	h.tell(func(st *state, b *batch) { st.failed(s, err.Error(), b) })
}

// Works implements inventory.ObjectHandler.
func (h *session) Works(s inventory.ObjectSource) {
	h.world.works(s)
	h.tell(func(st *state, b *batch) { st.failed(s, "", b) })
}
