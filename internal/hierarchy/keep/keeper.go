// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const (
	// fieldManager owns what Holdfast writes for trees.
	fieldManager = "holdfast-hierarchy"
	// workers write at the same time. The API server's priority and fairness is the
	// limit.
	workers = 32
	// writeTimeout bounds one write.
	writeTimeout = 30 * time.Second
	// someTemplates and someWritten bound what is remembered.
	someTemplates, someWritten = 128, 4096
)

// World is what the Keeper goes by.
type World interface {
	Everything() world.Dirty
	Copy(world.CopyRef) *world.CopyPlan
	Wrote(world.CopyRef, *metav1.PartialObjectMetadata, *world.Source)
	Bound(world.CopyRef) []world.CopyRef
	Source(world.CopyRef) *world.SourcePlan
	Namespace(string) *world.NamespacePlan
	Anchor(world.Ref) *world.AnchorPlan
	Config() *world.ConfigPlan
}

// Options of a Keeper.
type Options struct {
	World   World
	Client  client.Client
	Dynamic dynamic.Interface
	Config  *rest.Config
	Events  events.EventRecorder
	Clock   clock.PassiveClock
	// Active says whether anything may be written now; it must be safe for
	// concurrent use.
	Active func() bool
	// Rights returns what to tell people who want a resource copied if Holdfast lacks rights for that; nil asks for none.
	Rights func(context.Context, schema.GroupResource) (advice string, err error)
	Pauses timing.Pauses
}

// Keeper writes.
type Keeper struct {
	o        Options
	objects  *objects
	queue    priorityqueue.PriorityQueue[item]
	progress *progress
	lacking  *lacking
	removals *removals
	wake     chan struct{}
	// templates are those of the sources that were copied last, and written what was
	// last written where, of copies, conditions, and anchors.
	templates, written, told, anchored *lru.Cache
	// refusals are how long what was refused is left alone, and reported what was said
	// last of what fails.
	refusals workqueue.TypedRateLimiter[item]
	reported *lru.Cache
	// counted is when the HNCConfiguration was written last. It belongs to who does
	// that.
	counted time.Time

	mu      sync.Mutex
	leading bool
	active  bool
}

// what is one thing that may have to be written.
type what string

const (
	aNamespace  what = "namespace"
	anAnchor    what = "anchor"
	aCopy       what = "copy"
	aSource     what = "source"
	aCompletion what = "completion"
	theConfig   what = "config"
)

// item is one thing that may have to be written.
type item struct {
	what            what
	kind            schema.GroupKind
	namespace, name string
}

// priorities, of which higher ones go first: a namespace without RoleBindings is of
// no use to anybody.
const (
	statusPriority  = -10
	copyPriority    = 0
	rolePriority    = 10
	bindingPriority = 20
	treePriority    = 30
)

func (i item) priority() int {
	switch {
	case i.what == theConfig || i.what == aCompletion || i.what == aSource:
		return statusPriority
	case i.what != aCopy:
		return treePriority
	case i.kind.Kind == "RoleBinding":
		return bindingPriority
	case i.kind.Kind == "Role":
		return rolePriority
	}
	return copyPriority
}

// New makes a Keeper.
func New(o Options) (*Keeper, error) {
	objects, err := newObjects(o.Config)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		o: o, objects: objects, progress: newProgress(), lacking: newLacking(), wake: make(chan struct{}, 1),
		templates: lru.New(someTemplates), written: lru.New(someWritten), told: lru.New(someWritten), anchored: lru.New(someWritten), reported: lru.New(someWritten),
		refusals: workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstRefused, lastRefused),
	}
	k.removals = &removals{keeper: k}
	k.queue = priorityqueue.New("hierarchy", func(q *priorityqueue.Opts[item]) {
		q.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstRetry, lastRetry)
	})
	return k, nil
}

// NeedLeaderElection is true: one writes.
func (k *Keeper) NeedLeaderElection() bool { return true }

// Wake asks for another look at whether anything may be written. It never blocks.
func (k *Keeper) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Start writes until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for k.work(ctx) {
			}
		})
	}
	k.mu.Lock()
	k.leading = true
	k.mu.Unlock()
	for {
		k.look()
		select {
		case <-k.wake:
		case <-ctx.Done():
			k.queue.ShutDown()
			done.Wait()
			return nil
		}
	}
}

// look has everything looked at once something may be written.
func (k *Keeper) look() {
	active := k.o.Active()
	k.mu.Lock()
	begins := active && !k.active
	k.mu.Unlock()
	if begins { // what was to be done before was dropped, or nobody knows how it ended
		k.progress.again()
		k.removals.again()
	}
	k.mu.Lock()
	k.active = active
	k.mu.Unlock()
	if !active {
		countProblems(nil)
	}
	if begins {
		k.Changed(k.o.World.Everything())
	}
}

// Changed takes in what may have to be written. It does not block.
func (k *Keeper) Changed(d world.Dirty) {
	k.mu.Lock()
	writes := k.leading && k.active
	k.mu.Unlock()
	if !writes {
		return
	}
	k.progress.moved(d.Moved)
	for name := range d.Namespaces {
		k.add(item{what: aNamespace, name: name})
	}
	for at := range d.Anchors {
		k.add(item{what: anAnchor, namespace: at.Namespace, name: at.Name})
	}
	k.removals.together(d)
	k.addCopies(d.Copies)
	for at := range d.Sources {
		k.add(item{what: aSource, kind: at.Kind, name: at.Name, namespace: at.Namespace})
	}
	if d.Synced {
		d.Moved = d.Moved.Union(k.progress.waiting())
	}
	for name := range d.Moved {
		k.add(item{what: aCompletion, name: name})
	}
	if d.Config {
		k.later(item{what: theConfig}, k.o.Pauses.TreeStatus)
	}
}

// addCopies adds what goes first first: a worker that is idle takes what is there.
func (k *Keeper) addCopies(copies sets.Set[world.CopyRef]) {
	items := make([]item, 0, len(copies))
	for at := range copies {
		k.progress.begin(at)
		items = append(items, item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace})
	}
	for _, priority := range []int{bindingPriority, rolePriority, copyPriority} {
		for _, i := range items {
			if i.priority() == priority {
				k.add(i)
			}
		}
	}
}

func (k *Keeper) add(i item) {
	k.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(i.priority())}, i)
}

func (k *Keeper) later(i item, after time.Duration) {
	k.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(i.priority()), After: after}, i)
}

// work does one thing; false ends the worker.
func (k *Keeper) work(ctx context.Context) bool {
	i, shutdown := k.queue.Get()
	if shutdown {
		return false
	}
	defer k.queue.Done(i)
	k.mu.Lock()
	active := k.active
	k.mu.Unlock()
	if !active {
		k.forget(i)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := k.do(ctx, i)
	if err == nil {
		k.forget(i)
		return true
	}
	if ctx.Err() == nil || k.queue.NumRequeues(i) > 0 {
		k.report(i, err)
	}
	k.doubt(i, err)
	k.retry(i, err)
	return true
}

func (k *Keeper) do(ctx context.Context, i item) error {
	switch i.what {
	case aNamespace:
		return k.namespace(ctx, i.name)
	case anAnchor:
		return k.anchor(ctx, world.Ref{Namespace: i.namespace, Name: i.name})
	case aCopy:
		return k.copy(ctx, i)
	case aSource:
		k.source(i)
		return nil
	case aCompletion:
		return k.completion(ctx, i.name)
	default:
		return k.config(ctx)
	}
}
