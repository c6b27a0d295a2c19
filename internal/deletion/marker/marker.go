// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package marker keeps the marks of the deletion guard: on what
// ResourceDeletionProtections select, on what something protected hangs below,
// on Services that have traffic, and on targets of DeletionOverrides. It runs on
// the leader; the policies go by what it wrote, with or without it.
package marker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const (
	// workers write marks in parallel.
	workers = 8
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// cleanedLimit bounds Marker.cleaned. Beyond it, stray marks that an operator copies again are removed again.
	cleanedLimit = 10_000
	// calm is how often at most the text of a mark follows what it describes, and
	// how often at most the same is written to an object on which somebody else
	// undoes it. A mark that comes or goes does not wait.
	calm = time.Second
)

// Settings are what the configuration says.
type Settings struct {
	Rules policy.Rules
	Scope scope.Scope
}

// Options of a Marker.
type Options struct {
	Kinds       *inventory.Kinds
	Metadata    metadata.Interface
	Client      kubernetes.Interface
	Protections *selection.Set
	// Settings is asked when something may have changed; it must be safe for
	// concurrent use.
	Settings func() Settings
	// Needed says whether anything is to be protected at all. Until it is, nothing is
	// watched, so that no rights are needed for it; what has started goes on. May be nil.
	Needed func() bool
	// Changed is called when the matches of a protection may have changed, with
	// its name. It must not block.
	Changed func(protection string)
	// Restore calls SetOverride for every override that is in force. It is called
	// once, at the start.
	Restore func(context.Context) error
	// Bound is called when the informers have synced and every mark is bound to its object. It must not block. May
	// be nil.
	Bound func()
	// OverrideGone is called when the target of an override was deleted, with the
	// override's name. It must not block.
	OverrideGone func(override string)
	Clock        clock.WithTicker
	Pauses       timing.Pauses
}

// target is an object that may need to be marked. Without a UID it is whichever
// has the name.
type target struct {
	resource        schema.GroupResource
	namespace, name string
	uid             types.UID
}

// known is an object that counts: protected, selected or marked.
type known struct {
	kind        inventory.Kind
	meta        *metav1.PartialObjectMetadata
	sources     sets.Set[inventory.Source]
	protections []*selection.Protection
	// straySince is when the Marker first saw stray marks on the object; zero while it has none.
	straySince time.Time
}

// Marker keeps the marks.
type Marker struct {
	o       Options
	watches *inventory.Watches
	writer  *marks.Writer
	queue   workqueue.TypedRateLimitingInterface[target]
	wake    chan struct{}

	mu       sync.Mutex
	running  bool
	settings Settings
	kinds    *inventory.Snapshot
	// sources are those that are watched, and whether all of their objects have
	// been seen.
	sources map[inventory.Source]*source
	known   map[types.UID]*known
	// namespaceLabels are the labels of each namespace.
	namespaceLabels map[string]map[string]string
	index           *contents.Index
	matches         map[string]map[schema.GroupKind]int
	// unmarked are the objects on which the last write failed, with the reason.
	unmarked  map[schema.GroupKind]map[target]string
	overrides map[types.UID]inForce
	// recent are the marks written to objects that the watches do not show yet.
	recent map[types.UID]marks.Set
	// last is the last write to each marked object.
	last   map[target]written
	probes map[schema.GroupResource]*probe
	// cleaned has the UIDs of objects from which the Marker removed stray marks.
	cleaned *lru.Cache
	// unbound are the objects with marks of a version that did not bind them; see marks.Unbound.
	unbound sets.Set[types.UID]
	// whileUsed are the Services that are protected while they are used, and
	// traffic the EndpointSlices, watched once there is such a Service.
	whileUsed map[types.UID]struct{}
	traffic   cache.SharedIndexInformer
	// volumes are the PersistentVolumes, watched once one is protected. claimed are
	// those that are, and claimsSeen whether the claims of all of them are known.
	volumes    cache.SharedIndexInformer
	claimed    map[types.UID]struct{}
	claimsSeen bool
	// needed is set once something was to be protected; only Start has it.
	needed bool
	// background are the goroutines beside the workers and the watches.
	background sync.WaitGroup
}

type written struct {
	at   time.Time
	want marks.Set
}

type source struct {
	kind   inventory.Kind
	synced bool
	// err is why the last try failed, if it did, and since when all have.
	err   string
	since time.Time
}

// New makes a Marker.
func New(o Options) *Marker {
	m := &Marker{
		o:       o,
		writer:  marks.NewWriter(o.Metadata),
		wake:    make(chan struct{}, 1),
		sources: map[inventory.Source]*source{},
		known:   map[types.UID]*known{},

		namespaceLabels: map[string]map[string]string{},
		index:           contents.NewIndex(),
		matches:         map[string]map[schema.GroupKind]int{},
		unmarked:        map[schema.GroupKind]map[target]string{},
		overrides:       map[types.UID]inForce{},
		recent:          map[types.UID]marks.Set{},
		last:            map[target]written{},
		whileUsed:       map[types.UID]struct{}{},
		claimed:         map[types.UID]struct{}{},
		probes:          map[schema.GroupResource]*probe{},
		cleaned:         lru.New(cleanedLimit),
		unbound:         sets.New[types.UID](),
	}
	m.watches = inventory.NewWatches(o.Metadata, m)
	m.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[target](100*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[target]{Name: "deletion.marks", Clock: o.Clock})
	o.Kinds.OnChange(m.Wake)
	return m
}

// Wake asks for another look at the configuration and at what the API server
// serves. It never blocks.
func (m *Marker) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Bound reports whether the informers have synced and every mark is bound to its object.
func (m *Marker) Bound() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bound()
}

func (m *Marker) bound() bool { return m.allSynced() && len(m.unbound) == 0 }

// setUnbound records whether an object has marks that are still to be bound, and calls Options.Bound after the last one.
func (m *Marker) setUnbound(uid types.UID, unbound bool) {
	before := m.bound()
	if unbound {
		m.unbound.Insert(uid)
	} else {
		m.unbound.Delete(uid)
	}
	if !before && m.bound() {
		m.tellBound()
	}
}

func (m *Marker) tellBound() {
	if m.o.Bound != nil {
		m.o.Bound()
	}
}

// Start keeps the marks until the context ends.
func (m *Marker) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		m.queue.ShutDown()
		m.watches.Wait()
		m.background.Wait()
	}()
	for range workers {
		m.background.Go(func() {
			for m.work(ctx) {
			}
		})
	}
	if err := m.o.Restore(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	m.running = true
	m.mu.Unlock()
	m.Wake()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
			if err := m.follow(ctx); err != nil {
				return fmt.Errorf("watch what may be protected: %w", err)
			}
		}
	}
}

// follow brings the watches in line with the configuration, the protections and
// what the API server serves.
func (m *Marker) follow(ctx context.Context) error {
	kinds := m.o.Kinds.Current()
	if kinds == nil {
		return nil // its first look wakes
	}
	if !m.needed && m.o.Needed != nil && !m.o.Needed() {
		return nil // a change of the configuration wakes
	}
	m.needed = true
	d := m.compare(kinds)
	m.start(ctx, d.start)
	for _, s := range d.stop {
		m.stop(s)
	}
	if d.reconfigured {
		m.lookAgain()
	}
	m.probeAggregated(ctx)
	return errors.Join(m.followTraffic(ctx), m.followVolumes(ctx))
}

// difference is what has to change.
type difference struct {
	start, stop  []inventory.Source
	reconfigured bool
}

// compare takes in the configuration and what the API server serves now.
func (m *Marker) compare(kinds *inventory.Snapshot) (d difference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	served := m.kinds != kinds
	if served {
		m.servedAgain(m.kinds, kinds)
		m.kinds, m.probes = kinds, map[schema.GroupResource]*probe{}
		m.frontedAgain(nil)
		for _, in := range m.overrides {
			m.enqueueTarget(in.target)
		}
		for _, k := range m.known { // see seenBelow
			if k.kind.Resource == inventory.CRDs {
				m.queue.Add(targetOf(k))
			}
		}
	}
	before := m.settings
	m.settings = m.o.Settings()
	d.reconfigured = !sameSettings(before, m.settings)
	wanted := wantedSources(kinds, m.settings.Rules, m.o.Protections)
	for s, kind := range wanted {
		if m.sources[s] == nil {
			m.sources[s] = &source{}
			d.start = append(d.start, s)
		}
		m.sources[s].kind = kind // a definition can come back with another kind or scope
	}
	for s := range m.sources {
		if _, ok := wanted[s]; !ok && m.replaced(s, wanted) {
			d.stop = append(d.stop, s)
		}
	}
	if served && m.bound() { // a kind for which it waited may not be served any more
		m.tellBound()
	}
	return d
}

// start begins to watch. Namespaces come first, and are waited for: whether an
// object is selected or in scope can depend on the labels of its namespace.
func (m *Marker) start(ctx context.Context, sources []inventory.Source) {
	first := inventory.Source{Resource: namespaces}
	if slices.Contains(sources, first) {
		m.watches.Start(ctx, first)
		for !m.isSynced(first) {
			select {
			case <-ctx.Done():
				return
			case <-m.wake: // also after each source that has synced
			}
		}
		m.Wake() // those that were taken may have been about something else
	}
	for _, s := range sources {
		m.watches.Start(ctx, s)
	}
}

// replaced says whether a source that is no longer wanted can go: its kind does
// not exist any more, or what is wanted of it is known.
func (m *Marker) replaced(s inventory.Source, wanted map[inventory.Source]inventory.Kind) bool {
	for w := range wanted {
		if w.Resource.GroupResource() == s.Resource.GroupResource() && !m.sources[w].synced {
			return false
		}
	}
	return true
}

func (m *Marker) stop(s inventory.Source) {
	m.watches.Stop(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sources, s)
	for _, k := range m.known {
		if k.sources.Has(s) {
			m.leave(s, k)
		}
	}
}

func (m *Marker) isSynced(s inventory.Source) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sources[s] != nil && m.sources[s].synced
}
