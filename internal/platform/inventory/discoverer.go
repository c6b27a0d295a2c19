// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var (
	// CRDs is the resource of CustomResourceDefinitions.
	CRDs = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	// APIServices is the resource of APIServices.
	APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

const (
	// settle is how long a change of CustomResourceDefinitions or APIServices is
	// waited for to be followed by another one.
	settle = 200 * time.Millisecond
	// refresh bounds how long a change can go unseen that no event tells.
	refresh = 10 * time.Minute
	// discoveryTimeout bounds one look at what the API server serves.
	discoveryTimeout = 30 * time.Second
)

// Kinds knows what the API server serves. It runs on every replica.
type Kinds struct {
	discovery discovery.AggregatedDiscoveryInterface
	dynamic   dynamic.Interface
	crds      cache.SharedIndexInformer
	services  cache.SharedIndexInformer

	changed chan struct{}
	current atomic.Pointer[Snapshot]

	mu        sync.Mutex
	listeners []func()
}

// NewKinds makes a Kinds.
func NewKinds(d discovery.AggregatedDiscoveryInterface, dyn dynamic.Interface, m metadata.Interface) *Kinds {
	k := &Kinds{discovery: d, dynamic: dyn, changed: make(chan struct{}, 1)}
	k.crds = metadatainformer.NewFilteredMetadataInformer(m, CRDs, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	k.follow(k.crds, strip, sameDefinition)
	// Their metadata has no generation, and does not say which servers answer.
	k.services = dynamicinformer.NewFilteredDynamicInformer(dyn, APIServices, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	k.follow(k.services, stripService, sameService)
	return k
}

// follow asks for another look after each change that can matter to what is
// served.
func (k *Kinds) follow(i cache.SharedIndexInformer, transform cache.TransformFunc, same func(before, after any) bool) {
	_ = i.SetTransform(transform) // fails only once the informer runs
	_, _ = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { k.wake() },
		UpdateFunc: func(before, after any) {
			if !same(before, after) {
				k.wake()
			}
		},
		DeleteFunc: func(any) { k.wake() },
	})
}

func (k *Kinds) wake() {
	select {
	case k.changed <- struct{}{}:
	default: // a look is due already, and it will see this change too
	}
}

// Current is what the API server serves as far as is known, or nil at the start.
func (k *Kinds) Current() *Snapshot { return k.current.Load() }

// OnChange has a function called after each change; it must not block. It is for
// use before Start.
func (k *Kinds) OnChange(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, f)
}

// NeedLeaderElection lets every replica know the kinds.
func (k *Kinds) NeedLeaderElection() bool { return false }

// Start follows the API server until the context ends.
func (k *Kinds) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("inventory")
	var group wait.Group
	defer group.Wait()
	group.StartWithContext(ctx, k.crds.RunWithContext)
	group.StartWithContext(ctx, k.services.RunWithContext)
	if !cache.WaitForCacheSync(ctx.Done(), k.crds.HasSynced, k.services.HasSynced) {
		return nil // the process ends
	}
	backoff := wait.Backoff{Duration: settle, Factor: 2, Steps: 10, Cap: time.Minute}
	next := backoff
	for {
		pause := refresh
		complete, err := k.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			logger.Error(err, "Cannot tell what the API server serves")
			pause = next.Step()
		case !complete: // discovery does not show everything yet
			pause = next.Step()
		default:
			next = backoff
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		case <-k.changed:
			next = backoff
			pausing(ctx, settle) // another change often follows
		}
	}
}

// pausing returns after a while, or with the context.
func pausing(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// look asks the API server what it serves, and says whether that is complete. It
// is not while a kind has just been defined, or a group does not answer.
func (k *Kinds) look(ctx context.Context) (complete bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	aggregated, err := k.aggregated(ctx)
	if err != nil {
		return false, err
	}
	lists, err := discovery.ServerPreferredResources(k.discovery)
	if len(lists) == 0 && err != nil {
		return false, fmt.Errorf("discover: %w", err)
	}
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return false, fmt.Errorf("discover: %w", err)
	}
	crds := sets.New(k.crds.GetStore().ListKeys()...)
	kinds, err := kindsOf(lists, aggregated, crds)
	if err != nil {
		return false, err
	}
	kinds = append(kinds, k.kept(partial, crds, kinds)...)
	next := NewSnapshot(kinds)
	next.silent = silent(next, crds, partial)
	if !next.equal(k.current.Load()) {
		k.current.Store(next)
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, f := range k.listeners {
			f()
		}
	}
	return next.silent.Len() == 0, nil
}

// silent are the groups that did not answer, and those of kinds that are defined and
// that discovery did not show. What did answer is in force in the meantime.
func silent(s *Snapshot, crds sets.Set[string], failed *discovery.ErrGroupDiscoveryFailed) sets.Set[string] {
	missing := crds.Clone()
	for _, kind := range s.all {
		if kind.CRD {
			missing.Delete(kind.CRDName())
		}
	}
	out := sets.New[string]()
	for name := range missing {
		_, group, _ := strings.Cut(name, ".")
		out.Insert(group)
	}
	if failed != nil {
		for version := range failed.Groups {
			out.Insert(version.Group)
		}
	}
	return out
}

// kept are the kinds that cannot be discovered now, as they were known before: a
// group that does not answer has not lost its objects, and neither has a
// definition of which no version is served any more.
func (k *Kinds) kept(failed *discovery.ErrGroupDiscoveryFailed, crds sets.Set[string], found []Kind) (kept []Kind) {
	before := k.current.Load()
	if before == nil {
		return nil
	}
	has := sets.New[schema.GroupResource]()
	for _, f := range found {
		has.Insert(f.GroupResource())
	}
	for _, b := range before.all {
		unanswered := false
		if failed != nil {
			_, unanswered = failed.Groups[b.Resource.GroupVersion()]
		}
		if (unanswered || b.CRD && crds.Has(b.CRDName())) && !has.Has(b.GroupResource()) {
			b.Unserved = !unanswered
			kept = append(kept, b)
		}
	}
	return kept
}

// aggregated are the group versions that extension API servers serve.
func (k *Kinds) aggregated(ctx context.Context) (sets.Set[schema.GroupVersion], error) {
	list, err := k.dynamic.Resource(APIServices).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list APIServices: %w", err)
	}
	out := sets.New[schema.GroupVersion]()
	for _, s := range list.Items {
		service, _, _ := unstructured.NestedMap(s.Object, "spec", "service")
		if service == nil {
			continue
		}
		group, _, _ := unstructured.NestedString(s.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(s.Object, "spec", "version")
		out.Insert(schema.GroupVersion{Group: group, Version: version})
	}
	return out, nil
}

func kindsOf(lists []*metav1.APIResourceList, aggregated sets.Set[schema.GroupVersion], crds sets.Set[string]) ([]Kind, error) {
	var kinds []Kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("parse %q: %w", list.GroupVersion, err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			kind := Kind{
				Resource:   gv.WithResource(r.Name),
				Kind:       r.Kind,
				Namespaced: r.Namespaced,
				Aggregated: aggregated.Has(gv),
				Verbs:      slices.Clone(r.Verbs),
			}
			kind.CRD = crds.Has(kind.CRDName())
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}
