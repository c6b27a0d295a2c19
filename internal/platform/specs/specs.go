// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs follows what people say in objects of Holdfast's own kinds, on every
// replica. What Holdfast says in their status is no news.
package specs

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow tells of each object of a kind that came or has another spec, and of each that
// is gone. It returns whether all were told that there were at first.
func Follow[T client.Object](ctx context.Context, c cache.Cache, kind T, put, gone func(T)) (synced func() bool, err error) {
	informer, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if in, ok := o.(T); ok {
				put(in)
			}
		},
		UpdateFunc: func(before, after any) {
			a, was := before.(T)
			b, is := after.(T)
			if is && (!was || a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID()) {
				put(b)
			}
		},
		DeleteFunc: func(o any) {
			if t, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = t.Obj
			}
			if in, ok := o.(T); ok {
				gone(in)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	return registration.HasSynced, nil
}
