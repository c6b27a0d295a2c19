// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

const (
	// pause is the time between two attempts at something that fails for now.
	pause = time.Second
	// newcomerAttempts is how often a namespace is tried: one that has just come
	// below gets the RoleBindings by which it may be read a moment later.
	newcomerAttempts = 30
)

// watcher prints what changes in an extent, which grows and shrinks meanwhile.
type watcher struct {
	source source
	group  *errgroup.Group
	// whole says that one watch of the whole cluster does for all namespaces.
	whole bool

	mu    sync.Mutex
	print func([]metav1.TableRow) error
	note  func(format string, args ...any)
	// members are the namespaces of the extent, each with what ends its own watch;
	// nil means all.
	members map[string]context.CancelFunc
}

// watch goes on from a listing until the context ends.
func (c *client) watch(ctx context.Context, t source, where *extent, found *listing, p *tablePrinter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	w := &watcher{
		source: t,
		group:  group,
		print:  func(rows []metav1.TableRow) error { return p.print(found.columns, rows) },
		note:   c.Notef,
	}
	known := found.known()
	// All are members before the first of them is followed: who emits rows goes by that.
	members := map[string]context.Context{}
	if !where.everywhere() {
		w.members = map[string]context.CancelFunc{}
		for _, ns := range where.namespaces {
			members[ns] = w.admit(ctx, ns)
		}
	}
	if version, ok := found.versions[""]; ok {
		w.whole = true
		all := w.follower("", version, versions{})
		for _, of := range known {
			maps.Copy(all.known, of)
		}
		group.Go(func() error { return all.run(ctx) })
	}
	for ns, ctx := range members {
		// One that could not be listed is not watched either.
		if version, ok := found.versions[ns]; ok {
			w.follow(ctx, w.follower(ns, version, known[ns]))
		}
	}
	if !where.everywhere() {
		if err := c.followMembers(ctx, where, w); err != nil {
			return err
		}
	}
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// followMembers lets namespaces join and leave as their labels say.
func (c *client) followMembers(ctx context.Context, where *extent, w *watcher) error {
	if where.fixed != "" {
		c.Notef("namespaces that come or go meanwhile are not noticed: %s", where.fixed)
		return nil
	}
	client, err := c.Metadata()
	if err != nil {
		return err
	}
	informer, err := namespaceInformer(client, where.selector(), cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { w.join(ctx, nameOf(o)) },
		DeleteFunc: func(o any) {
			if name := nameOf(o); name != where.root {
				w.leave(name)
			}
		},
	}, func(err error) { w.say("namespaces that come or go meanwhile may not be noticed: %v", err) })
	if err != nil {
		return err
	}
	w.group.Go(func() error {
		informer.RunWithContext(ctx)
		return nil
	})
	return nil
}

func namespaceInformer(client metadata.Interface, selector string, handler cache.ResourceEventHandler, forbidden func(error)) (cache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(client, namespacesResource, "", 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = selector }).Informer()
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	var once sync.Once
	return informer, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			once.Do(func() { forbidden(err) })
		}
	})
}

func nameOf(o any) string {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		return m.Name
	}
	return ""
}

// admit makes a namespace a member. The context ends when it leaves.
func (w *watcher) admit(ctx context.Context, namespace string) context.Context {
	ctx, w.members[namespace] = context.WithCancel(ctx)
	return ctx
}

// join takes in a namespace that is no member yet. What is in it is news.
func (w *watcher) join(ctx context.Context, namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.members[namespace] == nil {
		ctx = w.admit(ctx, namespace)
		f := w.follower(namespace, "", versions{})
		f.once = w.whole
		w.follow(ctx, f)
	}
}

func (w *watcher) leave(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.members[namespace]; end != nil {
		end()
		delete(w.members, namespace)
	}
}

func (w *watcher) follower(namespace, version string, known versions) *follower {
	return &follower{source: w.source, namespace: namespace, version: version, known: known, emit: w.emit, pause: pause}
}

// follow lets a follower run for as long as it may. One that may not, after some
// attempts, is said and does not end the others.
func (w *watcher) follow(ctx context.Context, f *follower) {
	w.group.Go(func() error {
		var err error
		for range newcomerAttempts {
			if err = f.run(ctx); !apierrors.IsForbidden(err) {
				return err
			}
			if !paused(ctx, pause) {
				return nil
			}
		}
		w.say("no longer watched: %v", err)
		return nil
	})
}

// paused says whether the context is still there after a pause.
func paused(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// emit prints the rows that are in the extent.
func (w *watcher) emit(rows []metav1.TableRow) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var in []metav1.TableRow
	for i := range rows {
		if w.members == nil || w.members[rowMeta(&rows[i]).Namespace] != nil {
			in = append(in, rows[i])
		}
	}
	if len(in) == 0 {
		return nil
	}
	return w.print(in)
}

func (w *watcher) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}
