// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/identity"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/render"
	"github.com/holdfast-dev/holdfast/internal/rootsync/rights"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git"
	"github.com/holdfast-dev/holdfast/internal/rootsync/watch"
)

// calls bounds how many requests all RootSyncs together have under way.
const calls = 32

// Options are what a Syncer is made of.
type Options struct {
	Manager ctrl.Manager
	// REST is the identity of the process, which may impersonate those of RootSyncs.
	REST     *rest.Config
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	Kinds    *inventory.Kinds
	// Config is what is in force, with its scope; it must be safe for concurrent use.
	Config func() (configv1alpha1.RootSyncConfiguration, scope.Scope)
	// Dir is where sources are kept; what is in it from before is taken away.
	Dir string
	// Program is render.Options.Program.
	Program string
	Clock   clock.WithTicker
	Pauses  timing.Pauses
}

func (o *Options) config() configv1alpha1.RootSyncConfiguration {
	c, _ := o.Config()
	return c
}

func (o *Options) scope() scope.Scope {
	_, s := o.Config()
	return s
}

// Syncer has all RootSyncs of a cluster.
type Syncer struct {
	o          Options
	client     client.Client
	events     events.EventRecorder
	registry   *namespaces.Registry
	spaces     *spaces
	declarers  *declarers
	rights     *rights.Rights
	identities *identity.Keeper
	hub        *watch.Hub
	sources    *source.Cache
	renderer   *render.Renderer
	slots      *semaphore.Weighted
	meters     *meters

	// base is the context of all runners, once started is closed.
	base    context.Context
	started chan struct{}

	// complete says that all RootSyncs have said what they want of namespaces, and impatient
	// that those that cannot say it yet are to say what they have.
	complete, impatient atomic.Bool

	mu      sync.Mutex
	runners map[object.Sync]*runner
	running sync.WaitGroup
}

// New makes a Syncer.
func New(o Options) *Syncer {
	s := &Syncer{
		o: o, client: o.Manager.GetClient(), events: o.Manager.GetEventRecorder("holdfast-sync"),
		registry: namespaces.NewRegistry(), declarers: newDeclarers(), slots: semaphore.NewWeighted(calls),
		renderer: render.New(render.Options{Clock: o.Clock, Program: o.Program, Time: o.config().RenderTimeout.Duration}),
		runners:  map[object.Sync]*runner{}, started: make(chan struct{}), meters: newMeters(),
	}
	s.rights = rights.New(rights.Options{
		Ask: rights.Review(o.REST, o.Kinds.Current), Use: s.use, Changed: s.rightChanged, Clock: o.Clock, Pauses: o.Pauses,
	})
	s.identities = identity.NewKeeper(s.client, identity.Options{
		Admins: func() bool { return !o.config().RequireRoleRefs },
		Warn: func(about runtime.Object, reason, action, note string) {
			s.say(about, []event{{corev1.EventTypeWarning, reason, action, note}})
		},
		Home: s.homeNow,
		Away: func(ctx context.Context) bool {
			_, inTree := errors.AsType[*namespaces.InTreeError](s.Home(ctx))
			return inTree
		},
		Bound: s.rights.Bound,
	})
	s.hub = watch.New(watch.Options{
		Dynamic: o.Dynamic, Metadata: o.Metadata, Kinds: o.Kinds.Current, Changed: s.observed, Synced: s.kindObserved,
	})
	s.spaces = &spaces{
		client: s.client, registry: s.registry, clock: o.Clock, changed: s.namespaceChanged, protection: s.protectionChanged,
		claims: func() bool { return *o.config().Claims },
		scope:  o.scope, scoped: s.scopeChanged, rights: s.rightsIn, home: s.homeChanged,
		protected: map[string]string{}, outside: sets.New[string](),
	}
	return s
}

// CacheOptions bind a cache to what a Syncer reads.
func CacheOptions() map[client.Object]cache.ByObject {
	home := map[string]cache.Config{object.SyncNamespace: {}}
	ours := cache.ByObject{Label: labels.SelectorFromSet(identity.Labels())}
	return map[client.Object]cache.ByObject{
		&configsyncv1beta1.RootSync{}: {},
		&corev1.Secret{}:              {Namespaces: home},
		&corev1.ServiceAccount{}:      {Namespaces: home},
		&rbacv1.RoleBinding{}:         ours,
		&rbacv1.ClusterRoleBinding{}:  ours,
		namespaceMetadata():           {},
	}
}

// CachedObjects are what is read, each in the form in which it is.
func CachedObjects() []client.Object {
	return []client.Object{
		&configsyncv1beta1.RootSync{}, &corev1.Secret{}, &corev1.ServiceAccount{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{}, namespaceMetadata(),
	}
}

// SetupWithManager adds what follows RootSyncs to the manager. All of it runs on the
// leader.
func (s *Syncer) SetupWithManager(mgr ctrl.Manager) error {
	for _, setup := range []func(ctrl.Manager) error{s.spaces.setupWithManager, s.setupController, s.identities.SetupWithManager} {
		if err := setup(mgr); err != nil {
			return fmt.Errorf("set up controller: %w", err)
		}
	}
	s.o.Kinds.OnChange(s.kindsChanged)
	return mgr.Add(manager.RunnableFunc(s.run))
}

// run says whom there is, and ends everything with the context.
func (s *Syncer) run(ctx context.Context) error {
	var err error
	if s.sources, err = source.New(ctx, source.Options{
		Dir: filepath.Join(s.o.Dir, "sources"), Git: git.Options{AllowFile: s.o.config().AllowFileSources}, Asked: s.meters.asked,
	}); err != nil {
		return err
	}
	var all configsyncv1beta1.RootSyncList
	if err := s.client.List(ctx, &all, client.InNamespace(object.SyncNamespace)); err != nil {
		return fmt.Errorf("list RootSyncs: %w", err)
	}
	names := make([]object.Sync, len(all.Items))
	for i := range all.Items {
		names[i] = object.Sync(all.Items[i].Name)
	}
	s.registry.Expect(names...)
	s.stakesChanged(nil)
	s.base = ctx
	s.running.Go(func() { s.rights.Run(ctx) })
	close(s.started)
	timer := s.o.Clock.NewTimer(s.o.Pauses.StakesPatience)
	defer timer.Stop()
	select {
	case <-timer.C():
		s.waitNoLonger(ctx)
	case <-ctx.Done():
	}
	<-ctx.Done()
	s.running.Wait()
	s.hub.Wait()
	s.sources.Wait()
	return nil
}

// waitNoLonger goes on without those RootSyncs that say nothing, once what they have by
// their inventories is known: nobody is to take that meanwhile.
func (s *Syncer) waitNoLonger(ctx context.Context) {
	if missing, _ := s.registry.Missing(); len(missing) > 0 {
		ctrl.Log.Info("Whose namespaces are is decided without RootSyncs that say nothing", "rootsyncs", missing)
		s.impatient.Store(true)
		s.wakeAll()
		ticker := s.o.Clock.NewTicker(time.Second)
		defer ticker.Stop()
		for end := s.o.Clock.Now().Add(s.o.Pauses.StakesPatience); !s.registry.Complete() && s.o.Clock.Now().Before(end); {
			select {
			case <-ticker.C():
			case <-ctx.Done():
				return
			}
		}
		s.impatient.Store(false)
	}
	s.registry.Expect()
	s.stakesChanged(nil)
}

// kindsChanged looks again at what can be watched and applied.
func (s *Syncer) kindsChanged() {
	select {
	case <-s.started:
	default:
		return // nobody follows anything yet
	}
	if err := s.hub.Refresh(s.base); err != nil {
		ctrl.Log.Error(err, "Kinds cannot be watched")
	}
	for _, r := range s.all() {
		if e := r.runs(); e != nil {
			e.ObserveKinds()
		}
		r.wake()
	}
}

// stakesChanged has namespaces looked at again: all of them, the first time that all
// RootSyncs have said what they want.
func (s *Syncer) stakesChanged(names []string) {
	if s.registry.Complete() && !s.complete.Swap(true) {
		names = s.registry.Names()
		s.wakeAll()
	}
	s.spaces.ask(names)
}

func (s *Syncer) wakeAll() {
	for _, r := range s.all() {
		r.wake()
	}
}

func (s *Syncer) all() []*runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*runner, 0, len(s.runners))
	for _, r := range s.runners {
		out = append(out, r)
	}
	return out
}

func (s *Syncer) runner(name object.Sync) *runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runners[name]
}

// observed passes on what the shared watch has seen. Each engine knows by itself whether
// it has to do with an object.
func (s *Syncer) observed(id object.ID) {
	for _, r := range s.all() {
		r.observe(id)
	}
}

// reconsider requeues an object: a decision about it may have another result, though the object has not changed.
func (s *Syncer) reconsider(id object.ID) {
	for _, r := range s.all() {
		if e := r.runs(); e != nil {
			e.Reconsider(id)
		}
	}
}

// kindObserved passes on that the shared watch of a kind has begun, or cannot.
func (s *Syncer) kindObserved(gk schema.GroupKind) {
	for _, r := range s.all() {
		if e := r.runs(); e != nil {
			e.ObserveKind(gk)
		}
	}
}

// namespaceChanged passes on that something about a namespace has changed.
func (s *Syncer) namespaceChanged(name object.Sync, namespace string) {
	if r := s.runner(name); r != nil {
		r.observeNamespace(namespace)
		r.wake()
	}
}

// ConfigurationChanged has everything looked at again that the scope bounds.
func (s *Syncer) ConfigurationChanged() {
	s.scopeChanged("")
	s.spaces.ask(s.registry.Names())
}

// scopeChanged passes on that a namespace may have come into the scope, or left it.
func (s *Syncer) scopeChanged(namespace string) {
	for _, r := range s.all() {
		if e := r.runs(); e != nil {
			e.ObserveScope(namespace)
		}
	}
}

// protectionChanged passes on that what keeps a namespace from being deleted has changed.
func (s *Syncer) protectionChanged(namespace string) {
	for _, r := range s.all() {
		if e := r.runs(); e != nil {
			e.ObserveProtection(namespace)
		}
	}
}
