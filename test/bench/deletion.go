// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	clients = 8
	// deleteBound is DESIGN's goal of 1.05 with room for noise.
	deleteBound = 1.15

	benchNamespace = "bench-0"
)

var protectedLabel = map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}

// measureDeletes measures a DELETE without any policy, with all policies and no
// label, and of a labelled object, which is refused.
func measureDeletes(ctx context.Context, b *bench) ([]row, error) {
	s, err := b.running(ctx)
	if err != nil {
		return nil, err
	}
	type series struct{ bare, loose, kept []float64 }
	var one, many series
	for round := range b.deleteRounds {
		b.progress("deletes, round %d of %d", round+1, b.deleteRounds)
		for _, with := range turns(round) {
			if err := s.switchTo(ctx, with); err != nil {
				return nil, err
			}
			for _, c := range []struct {
				clients int
				series  *series
			}{{1, &one}, {clients, &many}} {
				// The same batches in both states, so that neither is measured
				// any closer to the switch than the other.
				if _, err := s.deletes(ctx, b.deletes, c.clients, nil, false); err != nil {
					return nil, err
				}
				loose, err := s.deletes(ctx, b.deletes, c.clients, nil, false)
				if err != nil {
					return nil, err
				}
				kept, err := s.deletes(ctx, b.deletes, c.clients, protectedLabel, with)
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

// deletes makes objects, deletes each once, and returns the median time of one
// DELETE in milliseconds. Each must be refused, or none.
func (s *subject) deletes(ctx context.Context, n, parallel int, labels map[string]string, refused bool) (float64, error) {
	objects := make([]*corev1.ConfigMap, n)
	err := each(n, makers, func(i int) error {
		objects[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, GenerateName: "d-", Labels: labels}}
		return s.Client.Create(ctx, objects[i])
	})
	if err != nil {
		return 0, fmt.Errorf("make objects: %w", err)
	}
	times := make([]float64, n)
	err = each(n, parallel, func(i int) (err error) {
		times[i], err = s.delete(ctx, objects[i], refused)
		return err
	})
	if err != nil {
		return 0, err
	}
	if refused {
		if err := s.release(ctx, objects); err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

// delete asks for a deletion, which must be refused or not, and returns how many
// milliseconds that took.
func (s *subject) delete(ctx context.Context, o client.Object, refused bool, options ...client.DeleteOption) (float64, error) {
	begin := time.Now()
	err := s.Client.Delete(ctx, o, options...)
	took := milliseconds(time.Since(begin))
	switch {
	case err != nil && (!refused || !apierrors.IsForbidden(err)):
		return 0, fmt.Errorf("delete %s: %w", client.ObjectKeyFromObject(o), err)
	case err == nil && refused:
		return 0, fmt.Errorf("delete %s: it was not refused", client.ObjectKeyFromObject(o))
	}
	return took, nil
}

// release deletes objects that were kept.
func (s *subject) release(ctx context.Context, objects []*corev1.ConfigMap) error {
	return each(len(objects), makers, func(i int) error {
		if err := s.unlabel(ctx, objects[i]); err != nil {
			return err
		}
		return s.Client.Delete(ctx, objects[i])
	})
}

// unlabel takes the label that protects an object away.
func (s *subject) unlabel(ctx context.Context, o client.Object) error {
	off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`))
	if err := s.Client.Patch(ctx, o, off); err != nil {
		return fmt.Errorf("unprotect: %w", err)
	}
	return nil
}
