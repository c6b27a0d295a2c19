// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	deleteRounds  = 10
	deletesARound = 300
	settle        = 3 * time.Second
	clients       = 8
	// deleteBound is DESIGN's goal of 1.05 with room for noise.
	deleteBound = 1.15

	benchNamespace = "bench-0"
)

// measureDeletes measures a DELETE without any policy, with all policies and no
// label, and of a labelled object, which is refused.
func measureDeletes(ctx context.Context, s *subject) ([]row, error) {
	type series struct{ bare, loose, kept []float64 }
	var one, many series
	for round := range deleteRounds {
		// ABBA, so that what drifts with time falls on both.
		order := []bool{false, true}
		if round%2 == 1 {
			order = []bool{true, false}
		}
		for _, with := range order {
			if err := s.switchTo(ctx, with); err != nil {
				return nil, err
			}
			for _, c := range []struct {
				clients int
				series  *series
			}{{1, &one}, {clients, &many}} {
				// The same batches in both states, so that neither is measured
				// any closer to the switch than the other.
				if _, err := s.deletes(ctx, c.clients, nil, false); err != nil {
					return nil, err
				}
				loose, err := s.deletes(ctx, c.clients, nil, false)
				if err != nil {
					return nil, err
				}
				kept, err := s.deletes(ctx, c.clients, map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}, with)
				if err != nil {
					return nil, err
				}
				if !with {
					c.series.bare = append(c.series.bare, loose)
					continue
				}
				c.series.loose = append(c.series.loose, loose)
				c.series.kept = append(c.series.kept, kept)
			}
		}
	}
	eight := fmt.Sprintf(", %d clients at once", clients)
	const floor = "the same object without any policy"
	return []row{
		{work: "DELETE of an unprotected object", floor: floor, measured: median(one.loose), base: median(one.bare), unit: "ms", bound: deleteBound},
		{work: "DELETE of a protected object, refused", floor: floor + ", deleted", measured: median(one.kept), base: median(one.bare), unit: "ms", bound: deleteBound},
		{work: "DELETE of an unprotected object" + eight, floor: floor, measured: median(many.loose), base: median(many.bare), unit: "ms", bound: deleteBound},
		{work: "DELETE of a protected object, refused" + eight, floor: floor + ", deleted", measured: median(many.kept), base: median(many.bare), unit: "ms", bound: deleteBound},
	}, nil
}

// switchTo waits a little more than until the switch is done: the garbage
// collector, the manager and the API server all have work with it.
func (s *subject) switchTo(ctx context.Context, on bool) error {
	change := s.off
	if on {
		change = s.on
	}
	if err := change(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
		return nil
	}
}

// deletes makes objects, deletes each once, and returns the median time of one
// DELETE in milliseconds. Each must be refused, or none.
func (s *subject) deletes(ctx context.Context, parallel int, labels map[string]string, refused bool) (float64, error) {
	objects := make([]*corev1.ConfigMap, deletesARound)
	var making errgroup.Group
	making.SetLimit(16)
	for i := range objects {
		making.Go(func() error {
			objects[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, GenerateName: "d-", Labels: labels}}
			return s.Client.Create(ctx, objects[i])
		})
	}
	if err := making.Wait(); err != nil {
		return 0, fmt.Errorf("make objects: %w", err)
	}
	var (
		mu    sync.Mutex
		times []float64
		group errgroup.Group
	)
	group.SetLimit(parallel)
	for _, o := range objects {
		group.Go(func() error {
			begin := time.Now()
			err := s.Client.Delete(ctx, o)
			took := milliseconds(time.Since(begin))
			if refused != (err != nil) || err != nil && !apierrors.IsForbidden(err) {
				return fmt.Errorf("delete an object with the labels %v: %w", labels, err)
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if refused {
		if err := s.release(ctx, objects); err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

// release deletes objects that were kept.
func (s *subject) release(ctx context.Context, objects []*corev1.ConfigMap) error {
	off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`))
	var group errgroup.Group
	group.SetLimit(16)
	for _, o := range objects {
		group.Go(func() error {
			if err := s.Client.Patch(ctx, o, off); err != nil {
				return fmt.Errorf("unprotect: %w", err)
			}
			return s.Client.Delete(ctx, o)
		})
	}
	return group.Wait()
}
