// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// byNamespace indexes the objects of a source.
const byNamespace = cache.NamespaceIndex

// running is one source that is watched. It has one handler, which is called by who
// reads the watch: there can be hundreds of sources, and what an informer with many
// handlers keeps for each would be most of their memory.
type running struct {
	objects  cache.Indexer
	informer cache.Controller
	stop     context.CancelFunc
}

func newRunning(lw cache.ListerWatcher, example runtime.Object, transform cache.TransformFunc, handler cache.ResourceEventHandlerFuncs) *running {
	objects, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: example, Transform: transform, Handler: handler,
		Indexers: cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc},
	})
	return &running{objects: objects.(cache.Indexer), informer: informer} //nolint:forcetypeassert // with indexers it is one
}

// start runs until the context ends, and says when all was told that there was at
// the start.
func (r *running) start(ctx context.Context, done *sync.WaitGroup, synced func()) {
	ctx, r.stop = context.WithCancel(ctx)
	done.Go(func() { r.informer.RunWithContext(ctx) })
	done.Go(func() {
		select {
		case <-r.informer.HasSyncedChecker().Done():
			synced()
		case <-ctx.Done():
		}
	})
}
