// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// keptObjects are those that are refused, again and again.
	keptObjects = 50
	// protectionMakers make protections in parallel.
	protectionMakers = 32
)

// defined is a cluster in which so many protections are defined.
type defined struct {
	*subject
	n int
	// labelled and selected are objects whose deletion is refused.
	labelled, selected []*corev1.ConfigMap
	// coming is what it took to bring the protections into force.
	coming coming
	// loose, kept and chosen are the times of one DELETE of each round: of an
	// unprotected object, of a labelled one, of one that a protection selects.
	loose, kept, chosen []float64
}

type coming struct {
	made, inForce time.Duration
	marks, writes float64
	memory        float64
}

// measureProtections measures deletions in clusters that run side by side, each
// with another number of protections. Each protection names one ConfigMap.
func measureProtections(ctx context.Context, b *bench) ([]row, error) {
	var all []*defined
	for _, n := range b.protections {
		d, err := defineProtections(ctx, b, n)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	for round := -1; round < b.deleteRounds; round++ { // the first is to warm up
		b.progress("protections, round %d of %d", round+1, b.deleteRounds)
		for _, d := range all {
			if err := d.round(ctx, b.deletes, round >= 0); err != nil {
				return nil, err
			}
		}
		slices.Reverse(all) // what drifts with time falls on all
	}
	slices.SortFunc(all, func(x, y *defined) int { return x.n - y.n })
	var rows []row
	none := all[0]
	for _, d := range all[1:] {
		rows = append(rows, d.rows(none)...)
	}
	return append(rows, all[len(all)-1].comingRows()...), nil
}

func (d *defined) rows(none *defined) []row {
	with := ", " + count(d.n, "protection")
	return []row{
		{
			work: "DELETE of an unprotected object" + with, floor: "the same in a cluster beside, with no protection",
			measured: median(d.loose), base: median(none.loose), unit: "ms", bound: deleteBound,
		},
		{
			work: "DELETE of a labelled object, refused" + with, floor: "the same in a cluster beside, with no protection",
			measured: median(d.kept), base: median(none.kept), unit: "ms", bound: deleteBound,
		},
		{
			work: "DELETE of an object that one of them selects, refused" + with, floor: "an unprotected object there, deleted",
			measured: median(d.chosen), base: median(none.loose), unit: "ms", bound: deleteBound,
		},
	}
}

func (d *defined) comingRows() []row {
	at, c := count(d.n, "protection")+" made at once, ", d.coming
	return []row{
		{
			work: at + "until all are in force and say so", floor: "until all are made",
			measured: c.inForce.Seconds(), base: c.made.Seconds(), unit: "s",
		},
		{work: at + "writes of marks for each", measured: c.marks / float64(d.n)},
		{work: at + "writes of Holdfast for each, status included", measured: c.writes / float64(d.n)},
		{work: at + "resident memory of the manager then", measured: c.memory, unit: "MiB"},
	}
}

// defineProtections makes a cluster with so many protections, all in force.
func defineProtections(ctx context.Context, b *bench, n int) (*defined, error) {
	b.progress("a cluster with %s", count(n, "protection"))
	s, err := b.running(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	d := &defined{subject: s, n: n, labelled: make([]*corev1.ConfigMap, keptObjects)}
	err = each(keptObjects, makers, func(i int) error {
		d.labelled[i] = configMap(benchNamespace, fmt.Sprintf("labelled-%d", i), protectedLabel)
		return s.Client.Create(ctx, d.labelled[i])
	})
	if err != nil {
		return nil, fmt.Errorf("make labelled objects: %w", err)
	}
	objects := make([]*corev1.ConfigMap, n)
	err = each(n, makers, func(i int) error {
		objects[i] = configMap(fmt.Sprintf("bench-%d", i%b.namespaces), fmt.Sprintf("selected-%d", i), nil)
		return s.Client.Create(ctx, objects[i])
	})
	if err != nil {
		return nil, fmt.Errorf("make objects: %w", err)
	}
	d.selected = objects[:min(n, keptObjects)]
	before, err := s.rest(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	err = each(n, protectionMakers, func(i int) error {
		return s.Client.Create(ctx, naming(objects[i]))
	})
	if err != nil {
		return nil, fmt.Errorf("make protections: %w", err)
	}
	d.coming.made = time.Since(begin)
	if err := d.inForce(ctx); err != nil {
		return nil, err
	}
	d.coming.inForce = time.Since(begin)
	after, err := s.rest(ctx)
	if err != nil {
		return nil, err
	}
	d.coming.marks = after.get(marksWritten) - before.get(marksWritten)
	d.coming.writes = after.writes() - before.writes()
	d.coming.memory, err = s.residentMiB()
	b.progress("%s in force after %.1f s, %.0f marks and %.0f writes", count(n, "protection"),
		d.coming.inForce.Seconds(), d.coming.marks, d.coming.writes)
	return d, err
}

// inForce waits until each protection says that its one object is protected.
func (d *defined) inForce(ctx context.Context) error {
	err := await(ctx, "all objects of protections are known", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		f, err := d.figures(ctx)
		return err == nil && f.get(objectsKnown) >= float64(d.n), err
	})
	if err != nil {
		return err
	}
	return await(ctx, "all protections are ready", time.Second, func(ctx context.Context) (bool, error) {
		var list v1alpha1.ResourceDeletionProtectionList
		if err := d.Client.List(ctx, &list); err != nil {
			return false, fmt.Errorf("list protections: %w", err)
		}
		return len(list.Items) == d.n && !slices.ContainsFunc(list.Items, func(p v1alpha1.ResourceDeletionProtection) bool {
			return !protects(&p, 1)
		}), nil
	})
}

// protects says whether a protection says that so many objects are protected.
func protects(p *v1alpha1.ResourceDeletionProtection, objects int64) bool {
	return p.Status.Matches.Total == objects && slices.ContainsFunc(p.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue
	})
}

// round measures each sort of deletion once.
func (d *defined) round(ctx context.Context, n int, counts bool) error {
	loose, err := d.deletes(ctx, n, 1, nil, false)
	if err != nil {
		return err
	}
	kept, err := d.refusals(ctx, n, d.labelled)
	if err != nil {
		return err
	}
	chosen, err := d.refusals(ctx, n, d.selected)
	if err != nil {
		return err
	}
	if counts {
		d.loose, d.kept, d.chosen = append(d.loose, loose), append(d.kept, kept), append(d.chosen, chosen)
	}
	return nil
}

// refusals asks so many times for the deletion of one of some objects that are
// all protected, and returns the median time of one DELETE in milliseconds.
func (s *subject) refusals(ctx context.Context, n int, of []*corev1.ConfigMap) (float64, error) {
	if len(of) == 0 {
		return 0, nil
	}
	times := make([]float64, n)
	for i := range times {
		var err error
		if times[i], err = s.delete(ctx, of[i%len(of)], true); err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

func configMap(namespace, name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// naming is a protection that names one ConfigMap, under its name.
func naming(o client.Object) *v1alpha1.ResourceDeletionProtection {
	return protection(o.GetName(), v1alpha1.ResourceSelector{Namespace: o.GetNamespace(), Name: o.GetName()})
}

// protection is one that selects ConfigMaps.
func protection(name string, selector v1alpha1.ResourceSelector) *v1alpha1.ResourceDeletionProtection {
	selector.APIVersion, selector.Kind = "v1", "ConfigMap"
	return &v1alpha1.ResourceDeletionProtection{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ResourceDeletionProtectionSpec{
			ProtectedResources: []v1alpha1.ProtectedResource{{ResourceSelector: []v1alpha1.ResourceSelector{selector}}},
			Reason:             "a benchmark",
		},
	}
}
