// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The writes that are let pass.
const (
	makesConfigMap   = "CREATE of a ConfigMap"
	changesConfigMap = "UPDATE of a ConfigMap"
	makesRole        = "CREATE of a Role, which a webhook is asked about"
)

// measureLetPass measures what writes cost that are none of Holdfast's business, with all of its
// features on: to find that out the API server looks at every policy.
func measureLetPass(ctx context.Context, b *bench) ([]row, error) {
	s, err := b.withAllFeatures(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.startManager(ctx); err != nil {
		return nil, err
	}
	if err := pause(ctx, starting); err != nil {
		return nil, err
	}
	times := map[bool]map[string][]float64{true: {}, false: {}} // with Holdfast, and without
	for round := range b.deleteRounds {
		b.progress("writes that are let pass, round %d of %d", round+1, b.deleteRounds)
		for _, with := range turns(round) {
			if err := s.switchTo(ctx, with); err != nil {
				return nil, err
			}
			for _, parallel := range []int{1, clients} {
				if err := s.letPass(ctx, b.deletes, parallel, times[with]); err != nil {
					return nil, err
				}
			}
		}
	}
	var rows []row
	for _, parallel := range []int{1, clients} {
		for _, work := range []string{makesConfigMap, changesConfigMap, makesRole} {
			work = by(work, parallel)
			r := ratioOf(work, "the same without any policy or webhook", times[true][work], times[false][work], 0)
			r.unit = "ms"
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func by(work string, parallel int) string {
	if parallel == 1 {
		return work
	}
	return fmt.Sprintf("%s, %d clients at once", work, parallel)
}

// letPass makes and changes objects, and adds the median times of each sort of write.
func (s *subject) letPass(ctx context.Context, n, parallel int, column map[string][]float64) error {
	maps, roles := make([]client.Object, n), make([]client.Object, n)
	for i := range n {
		maps[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: fmt.Sprintf("passes-%d", i)}}
		roles[i] = roleIn(benchNamespace, fmt.Sprintf("passes-%d", i))
	}
	for _, step := range []struct {
		work    string
		objects []client.Object
		write   func(client.Object) error
	}{
		{makesConfigMap, maps, func(o client.Object) error { return s.Client.Create(ctx, o) }},
		{changesConfigMap, maps, func(o client.Object) error {
			o.SetAnnotations(map[string]string{"example.com/changed": "yes"})
			return s.Client.Update(ctx, o)
		}},
		{makesRole, roles, func(o client.Object) error { return s.Client.Create(ctx, o) }},
	} {
		times := make([]float64, n)
		if err := each(n, parallel, func(i int) error {
			begin := time.Now()
			defer func() { times[i] = milliseconds(time.Since(begin)) }()
			return step.write(step.objects[i])
		}); err != nil {
			return fmt.Errorf("%s: %w", step.work, err)
		}
		work := by(step.work, parallel)
		column[work] = append(column[work], median(times))
	}
	return each(2*n, makers, func(i int) error {
		if i < n {
			return s.Client.Delete(ctx, maps[i])
		}
		return s.Client.Delete(ctx, roles[i-n])
	})
}
