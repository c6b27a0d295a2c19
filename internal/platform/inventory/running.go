// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// byNamespace indexes the objects of a source.
const byNamespace = cache.NamespaceIndex

// running is one source that is watched.
type running struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	stop         context.CancelFunc
}

func newRunning(
	lw cache.ListerWatcher, example runtime.Object, transform cache.TransformFunc, h *health, handler cache.ResourceEventHandlerFuncs,
) (*running, error) {
	i := cache.NewSharedIndexInformer(lw, example, 0, cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc})
	if err := i.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	if err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { h.fail(err) }); err != nil {
		return nil, fmt.Errorf("set error handler: %w", err)
	}
	registration, err := i.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("add handler: %w", err)
	}
	return &running{informer: i, registration: registration}, nil
}

// start runs until the context ends, and says when all was told that there was at
// the start.
func (r *running) start(ctx context.Context, done *sync.WaitGroup, synced func()) {
	ctx, r.stop = context.WithCancel(ctx)
	done.Go(func() { r.informer.RunWithContext(ctx) })
	done.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), r.registration.HasSynced) {
			synced()
		}
	})
}
