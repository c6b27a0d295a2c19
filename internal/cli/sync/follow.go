// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// breath is the time between two looks at what changes all the time.
const breath = 250 * time.Millisecond

// errNotInTime is the end of waiting.
var errNotInTime = errors.New("not in time")

// snapshot is what is known at a moment.
type snapshot struct {
	syncs       []configsyncv1beta1.RootSync
	inventories inventories
}

// read reads all RootSyncs in one request and, where one of them is on its way, all
// inventories in another.
func (c *client) read(ctx context.Context, client dynamic.Interface) (snapshot, error) {
	syncs, err := list(ctx, client)
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{syncs: syncs}
	for i := range syncs {
		if st := stateOf(&syncs[i]); st == syncing || st == deleting {
			s.inventories = groups(ctx, client)
			break
		}
	}
	return s, nil
}

// items say how the RootSyncs are doing that are named, or all if none is.
func (s snapshot) items(names []string) ([]item, error) {
	syncs, err := named(s.syncs, names)
	if err != nil {
		return nil, err
	}
	out := make([]item, 0, len(syncs))
	for i := range syncs {
		out = append(out, itemOf(&syncs[i], s.inventories[syncs[i].Name]))
	}
	return out, nil
}

// follow shows what is known to a function each time that it changes, until that has seen
// enough. Losing the connection is no reason to give up.
func follow(ctx context.Context, client dynamic.Interface, look func(snapshot) (enough bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, object.SyncNamespace, nil)
	defer factory.Shutdown()
	defer cancel()
	syncs, inventories := factory.ForResource(syncsResource), factory.ForResource(groupsResource)
	changed, broken := make(chan struct{}, 1), make(chan error, 1)
	if err := errors.Join(
		watched(syncs.Informer(), changed, func(err error) { offer(broken, err) }),
		watched(inventories.Informer(), changed, func(error) {}),
	); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-broken:
			return err
		case <-changed:
		}
		if syncs.Informer().HasSynced() {
			now, err := snapshotOf(syncs.Lister(), inventories.Lister())
			if err != nil {
				return err
			}
			if enough, err := look(now); enough || err != nil {
				return err
			}
		} else {
			offer(changed, struct{}{}) // what it has begun with comes in
		}
		if err := breathe(ctx); err != nil {
			return err
		}
	}
}

func breathe(ctx context.Context) error {
	timer := time.NewTimer(breath)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// watched tells of changes, and of what keeps an informer from beginning.
func watched(informer cache.SharedIndexInformer, changed chan<- struct{}, failed func(error)) error {
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if !informer.HasSynced() {
			failed(err)
		}
	}); err != nil {
		return err
	}
	tell := func(any) { offer(changed, struct{}{}) }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell,
	})
	return err
}

// offer leaves something for who looks next.
func offer[T any](to chan<- T, what T) {
	select {
	case to <- what:
	default:
	}
}

func snapshotOf(syncs, groups cache.GenericLister) (snapshot, error) {
	var s snapshot
	served, err := all(syncs)
	if err != nil {
		return s, err
	}
	if s.syncs, err = decodeSyncs(served); err != nil {
		return s, err
	}
	if served, err = all(groups); err != nil {
		return s, err
	}
	s.inventories = inventories{}
	for i := range served {
		group := &kptv1alpha1.ResourceGroup{}
		if decode(&served[i], group) == nil {
			s.inventories[group.Name] = group
		}
	}
	return s, nil
}

func all(lister cache.GenericLister) ([]unstructured.Unstructured, error) {
	objects, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	out := make([]unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("the API server answered with %T", o)
		}
		out = append(out, *u)
	}
	return out, nil
}

// until is follow for so long. What it ends with is errNotInTime if that is over.
func until(ctx context.Context, client dynamic.Interface, limit time.Duration, look func(snapshot) (enough bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNotInTime)
	defer cancel()
	err := follow(ctx, client, look)
	if apierrors.IsNotFound(err) {
		return errNoKinds
	}
	return err
}
