// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// bareWorkers are as many as Holdfast marks with.
	bareWorkers = 8
	// chosenLabel is what the protection selects.
	chosenLabel  = "bench"
	chosenValue  = "selected"
	theOne       = "the-one"
	bareManager  = "bench"
	bareMarked   = "bench.example.org/marked"
	bareMarkedBy = "bench.example.org/marked-by"
)

// selectedBench measures one protection that selects many objects.
type selectedBench struct {
	*subject
	b       *bench
	objects []*metav1.PartialObjectMetadata
	// on, off, bareOn and bareOff are the seconds of each round.
	on, off, bareOn, bareOff []float64
	marks, writes            []float64
}

func measureSelected(ctx context.Context, b *bench) ([]row, error) {
	b.progress("selected: a cluster")
	s, err := b.running(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	m := &selectedBench{subject: s, b: b}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s selected by one protection in %d namespaces", count(b.marked, "ConfigMap"), manyNamespaces)
	u, err := newUpkeep(ctx, b, s, what, b.marked)
	if err != nil {
		return nil, err
	}
	for round := range b.markRounds {
		b.progress("selected, round %d of %d", round+1, b.markRounds)
		if err := m.round(ctx, (round+b.markRounds)%2 == 0); err != nil {
			return nil, err
		}
	}
	more, err := u.rows(ctx)
	return append(m.rows(what), more...), err
}

func (m *selectedBench) rows(what string) []row {
	bare := fmt.Sprintf("the same patches by a bare client, %d at once", bareWorkers)
	rows := []row{{work: what + ": until all marks are there", floor: bare, measured: median(m.on), base: median(m.bareOn), unit: "s"}}
	if len(m.off) > 0 {
		rows = append(rows, row{work: what + ": until all marks are gone", floor: bare, measured: median(m.off), base: median(m.bareOff), unit: "s"})
	}
	return append(rows, writeRows(what, len(m.objects), median(m.marks), median(m.writes))...)
}

// fill makes the objects.
func (m *selectedBench) fill(ctx context.Context) error {
	if err := m.makeNamespaces(ctx, many, manyNamespaces); err != nil {
		return err
	}
	err := each(m.b.marked, makers, func(i int) error {
		return m.Client.Create(ctx, configMap(manyNamespace(many, i), fmt.Sprintf("selected-%d", i), map[string]string{chosenLabel: chosenValue}))
	})
	if err != nil {
		return fmt.Errorf("make objects: %w", err)
	}
	list, err := m.metadata.Resource(configMaps).List(ctx, metav1.ListOptions{LabelSelector: chosenLabel + "=" + chosenValue})
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	for i := range list.Items {
		m.objects = append(m.objects, &list.Items[i])
	}
	return nil
}

// round has the objects marked by Holdfast and by a bare client. The last round
// ends with Holdfast, whose marks stay.
func (m *selectedBench) round(ctx context.Context, holdfastLast bool) error {
	last := len(m.on)+1 == m.b.markRounds
	turns := []func() error{
		func() error { return m.byHoldfast(ctx, last) },
		func() error { return m.byBareClient(ctx) },
	}
	first := 0
	if holdfastLast || last {
		first = 1
	}
	if err := turns[first](); err != nil {
		return err
	}
	return turns[1-first]()
}

// byHoldfast makes the protection and, unless its marks are to stay, deletes it.
func (m *selectedBench) byHoldfast(ctx context.Context, stay bool) error {
	before, err := m.rest(ctx)
	if err != nil {
		return err
	}
	p := m.protection()
	begin := time.Now()
	if err := m.Client.Create(ctx, p); err != nil {
		return fmt.Errorf("make a protection: %w", err)
	}
	if err := m.none(ctx, "!"+v1alpha1.ProtectedByMark); err != nil {
		return err
	}
	m.on = append(m.on, time.Since(begin).Seconds())
	m.b.progress("selected: marked by Holdfast within %.1f s", m.on[len(m.on)-1])
	after, err := m.rest(ctx)
	if err != nil {
		return err
	}
	m.marks = append(m.marks, after.get(marksWritten)-before.get(marksWritten))
	m.writes = append(m.writes, after.writes()-before.writes())
	if stay {
		return nil
	}
	begin = time.Now()
	if err := m.Client.Delete(ctx, p); err != nil {
		return fmt.Errorf("delete a protection: %w", err)
	}
	if err := m.none(ctx, v1alpha1.ProtectedByMark); err != nil {
		return err
	}
	m.off = append(m.off, time.Since(begin).Seconds())
	_, err = m.rest(ctx)
	return err
}

// protection selects all objects.
func (m *selectedBench) protection() *v1alpha1.ResourceDeletionProtection {
	return protection(theOne, v1alpha1.ResourceSelector{LabelSelector: &v1alpha1.ObjectSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{chosenLabel: chosenValue},
	}})
}

// none waits until no object is left that also matches a selector.
func (m *selectedBench) none(ctx context.Context, selector string) error {
	o := metav1.ListOptions{LabelSelector: chosenLabel + "=" + chosenValue + "," + selector, Limit: 1}
	return await(ctx, "no object has "+selector, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		list, err := m.metadata.Resource(configMaps).List(ctx, o)
		if err != nil {
			return false, fmt.Errorf("list objects: %w", err)
		}
		return len(list.Items) == 0, nil
	})
}

// byBareClient writes as much to each object as Holdfast does, and takes it away
// again.
func (m *selectedBench) byBareClient(ctx context.Context) error {
	labels := map[string]string{bareMarkedBy: theOne, bareMarked: v1alpha1.MarkSet}
	on, err := m.patch(ctx, labels, map[string]string{bareMarkedBy: theOne + " (a benchmark)"})
	if err != nil {
		return err
	}
	m.b.progress("selected: patched by a bare client within %.1f s", on)
	off, err := m.patch(ctx, nil, nil)
	m.bareOn, m.bareOff = append(m.bareOn, on), append(m.bareOff, off)
	return err
}

// patch applies to every object that it has these labels and annotations, and
// returns how many seconds that took.
func (m *selectedBench) patch(ctx context.Context, labels, annotations map[string]string) (float64, error) {
	begin := time.Now()
	err := each(len(m.objects), bareWorkers, func(i int) error {
		o := m.objects[i]
		body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": o.Name, "namespace": o.Namespace, "uid": o.UID, "labels": labels, "annotations": annotations,
		}})
		if err != nil {
			return fmt.Errorf("encode a patch: %w", err)
		}
		_, err = m.metadata.Resource(configMaps).Namespace(o.Namespace).Patch(ctx, o.Name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: bareManager, Force: new(true)})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("patch objects: %w", err)
	}
	return time.Since(begin).Seconds(), nil
}
