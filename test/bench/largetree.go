// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measureLargeTree measures a tree of many namespaces with ten copies in each: the
// start of the manager and its memory, one change, and one more namespace.
func measureLargeTree(ctx context.Context, b *bench) ([]row, error) {
	b.progress("trees: a large one")
	s, err := b.withTrees(ctx)
	if err != nil {
		return nil, err
	}
	m := newTrees(s, b)
	if err := m.large(ctx, b.treeLarge); err != nil {
		return nil, err
	}
	if err := m.Manager.Stop(); err != nil {
		return nil, err
	}
	begin := time.Now()
	ready, err := m.startManager(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.atRest(ctx); err != nil {
		return nil, err
	}
	b.progress("trees: the large one is known again after %s", time.Since(begin).Round(time.Millisecond))
	// What the first lists took is given back ten seconds after the start.
	if err := pause(ctx, starting-time.Since(begin)); err != nil {
		return nil, err
	}
	memory, err := m.residentMiB()
	if err != nil {
		return nil, err
	}
	writes, err := m.oneChange(ctx)
	if err != nil {
		return nil, err
	}
	more, err := m.oneMore(ctx)
	size := fmt.Sprintf("%s with 10 copies each", count(b.treeLarge, "namespace"))
	return append([]row{
		{work: size + ": start to ready", measured: ready.Seconds(), unit: "s", limit: new(float64(readyBound))},
		{work: size + ": resident memory", measured: memory, unit: "MiB", limit: new(float64(memoryBound))},
		{work: size + ": writes when one of the 10 sources changes", measured: writes, limit: new(float64(b.treeLarge))},
	}, more...), err
}

// oneChange changes one source, and counts what is written for it.
func (m *treesBench) oneChange(ctx context.Context) (writes float64, err error) {
	before, err := m.figures(ctx)
	if err != nil {
		return 0, err
	}
	const changed = "one of the 10 Roles changes"
	if err := m.timed(ctx, watch.Modified, m.b.treeLarge, changed, withHoldfast, func() error {
		r := roleIn(rootName, "large-0")
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		r.Rules[0].Verbs = []string{"get"}
		return m.Client.Update(ctx, r)
	}); err != nil {
		return 0, err
	}
	if err := m.atRest(ctx); err != nil {
		return 0, err
	}
	after, err := m.figures(ctx)
	return after.get(treeWrites) - before.get(treeWrites), err
}

// large makes a tree of three levels.
func (m *treesBench) large(ctx context.Context, n int) error {
	if _, err := m.startManager(ctx); err != nil {
		return err
	}
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: rootName}}); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	for i := range 10 {
		if err := m.Client.Create(ctx, roleIn(rootName, fmt.Sprintf("large-%d", i))); err != nil {
			return fmt.Errorf("make a role: %w", err)
		}
	}
	for _, level := range []struct {
		from, to int
		parent   func(i int) string
	}{
		{0, n / 20, func(int) string { return rootName }},
		{n / 20, n, func(i int) string { return child(i % (n / 20)) }},
	} {
		err := each(level.to-level.from, makers, func(i int) error {
			i += level.from
			if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: child(i)}}); err != nil {
				return err
			}
			return m.Client.Create(ctx, hierarchyIn(child(i), level.parent(i)))
		})
		if err != nil {
			return err
		}
	}
	return m.atRest(ctx)
}

// oneMore puts one namespace more below the root, which has a hundred sources then.
func (m *treesBench) oneMore(ctx context.Context) ([]row, error) {
	const sources, already = 100, 10
	own := fmt.Sprintf("%s-few", rootName)
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own}}); err != nil {
		return nil, err
	}
	if err := each(m.b.treeFew, makers, func(i int) error {
		name := fmt.Sprintf("few-%d", i)
		if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		return m.Client.Create(ctx, hierarchyIn(name, own))
	}); err != nil {
		return nil, err
	}
	if err := each(sources, makers, func(i int) error { return m.Client.Create(ctx, roleIn(own, fmt.Sprintf("few-%d", i))) }); err != nil {
		return nil, err
	}
	if err := m.atRest(ctx); err != nil {
		return nil, err
	}
	before, err := m.figures(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "one-more"}}); err != nil {
		return nil, err
	}
	if err := m.timed(ctx, watch.Added, sources, "one more", withHoldfast, func() error {
		return m.Client.Create(ctx, hierarchyIn("one-more", own))
	}); err != nil {
		return nil, err
	}
	if err := m.atRest(ctx); err != nil {
		return nil, err
	}
	after, err := m.figures(ctx)
	what := fmt.Sprintf("one more child below a root with %d sources and %d descendants", sources, m.b.treeFew)
	return []row{
		{work: what + ": places for copies that were looked at", measured: after.get(treeDecisions) - before.get(treeDecisions), limit: new(float64(sources) * 1.05)},
		// The copies; the labels of the namespace, its HierarchyConfiguration and that of the root, its condition.
		{work: what + ": writes", measured: after.get(treeWrites) - before.get(treeWrites), limit: new(float64(sources + 8))},
	}, err
}
