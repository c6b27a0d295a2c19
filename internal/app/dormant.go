// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// dormant starts a part of the process once something needs it, so that a process
// whose features are off needs no rights for it. What has started goes on.
type dormant struct {
	manager.Runnable
	needed func() bool
	wake   chan struct{}
}

func newDormant(r manager.Runnable, needed func() bool) *dormant {
	return &dormant{Runnable: r, needed: needed, wake: make(chan struct{}, 1)}
}

// Wake asks for another look. It never blocks.
func (d *dormant) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection is false: every replica has its own.
func (d *dormant) NeedLeaderElection() bool { return false }

// Start waits until the part is needed, and starts it.
func (d *dormant) Start(ctx context.Context) error {
	for !d.needed() {
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		}
	}
	return d.Runnable.Start(ctx)
}
