// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

const (
	// treeAnswers is how long the webhooks for trees took.
	treeAnswers = "holdfast_hierarchy_admission_seconds"
	// answerBound is for the slowest but one in a hundred. HNC's time was up after 2 s.
	answerBound = 100.0
	// askers ask at the same time, without a pause.
	askers = 2
)

// answers takes the time of the webhooks while ten Roles are copied to all namespaces
// below the root.
func (m *treesBench) answers(ctx context.Context) ([]row, error) {
	before, err := m.figures(ctx)
	if err != nil {
		return nil, err
	}
	n := m.b.treeChildren
	err = m.asking(ctx, func() error {
		return m.timed(ctx, watch.Added, 10*n, "copies while webhooks are asked", withHoldfast, func() error {
			return each(10, treeWriters, func(i int) error { return m.Client.Create(ctx, roleIn(rootName, fmt.Sprintf("asked-%d", i))) })
		})
	})
	if err != nil {
		return nil, err
	}
	after, err := m.figures(ctx)
	if err != nil {
		return nil, err
	}
	asked, most := slowest(before.buckets(treeAnswers), after.buckets(treeAnswers), 0.99)
	what := fmt.Sprintf("webhooks while %s copies are made", number(10*n))
	return []row{
		{work: what + ": questions", measured: asked},
		{work: what + ": 99 of 100 answers took at most", measured: most * 1000, unit: "ms", limit: new(answerBound)},
	}, nil
}

// asking asks for anchors, without making any, while something is done.
func (m *treesBench) asking(ctx context.Context, do func() error) error {
	asking, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	failed := make(chan error, askers)
	for i := range askers {
		workers.Go(func() {
			for asking.Err() == nil {
				a := &hncv1alpha2.SubnamespaceAnchor{ObjectMeta: metav1.ObjectMeta{Namespace: rootName, Name: fmt.Sprintf("asked-for-%d", i)}}
				if err := m.Client.Create(asking, a, client.DryRunAll); err != nil && asking.Err() == nil {
					failed <- fmt.Errorf("ask for an anchor: %w", err)
					return
				}
			}
		})
	}
	err := do()
	stop()
	workers.Wait()
	close(failed)
	if err == nil {
		err = <-failed
	}
	return err
}

// buckets are those of all series of a histogram: how many were at most so long.
func (f figures) buckets(name string) map[float64]float64 {
	out := map[float64]float64{}
	for _, m := range f[name].GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			out[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
	return out
}

// slowest says how many there were between two looks at a histogram, and the bound of
// the bucket that a share of them does not exceed.
func slowest(before, after map[float64]float64, share float64) (all, bound float64) {
	bounds := slices.Sorted(maps.Keys(after))
	if len(bounds) == 0 {
		return 0, 0
	}
	last := bounds[len(bounds)-1]
	all = after[last] - before[last]
	for _, b := range bounds {
		if after[b]-before[b] >= share*all {
			return all, b
		}
	}
	return all, last
}
