// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

// measureUpgrade measures how long the manager takes to bind the marks of a version that did not bind them, while a
// client tries to delete the marked objects.
func measureUpgrade(ctx context.Context, b *bench) ([]row, error) {
	b.progress("upgrade: a cluster")
	s, err := b.installed(ctx)
	if err != nil {
		return nil, err
	}
	m := &selectedBench{subject: s, b: b}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	bare, err := m.patch(ctx, map[string]string{v1alpha1.MarkedLabel: v1alpha1.MarkSet, v1alpha1.ProtectedByMark: theOne}, map[string]string{v1alpha1.ProtectedByMark: theOne + " (a benchmark)"})
	if err != nil {
		return nil, err
	}
	if err := m.Client.Create(ctx, m.protection()); err != nil {
		return nil, fmt.Errorf("make a protection: %w", err)
	}
	if err := m.apply(ctx, "internal/deletion/testdata/unbound/policies.yaml"); err != nil {
		return nil, err
	}
	err = await(ctx, "marked objects are protected", 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(m.tryDelete(ctx, 0)), nil
	})
	if err != nil {
		return nil, err
	}
	b.progress("upgrade: the manager starts")
	trying, stop := context.WithCancel(ctx)
	defer stop()
	tried := make(chan [2]int, 1)
	go func() {
		var all, deleted int
		for ; trying.Err() == nil; all++ {
			if m.tryDelete(trying, all) == nil {
				deleted++
			}
		}
		tried <- [2]int{all, deleted}
	}()
	begin := time.Now()
	if _, err := m.startManager(ctx); err != nil {
		return nil, err
	}
	err = await(ctx, "the marks are bound", 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := m.Client.Get(ctx, client.ObjectKey{Name: marks.UnboundPolicy}, &admissionregistrationv1.ValidatingAdmissionPolicy{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin).Seconds()
	if err := m.WaitEnforced(ctx); err != nil {
		return nil, err
	}
	stop()
	tries := <-tried
	what := fmt.Sprintf("%s with marks that are not bound", count(len(m.objects), "ConfigMap"))
	return []row{
		{
			work:  what + ": from the start of the manager until all are bound and its policies are installed",
			floor: fmt.Sprintf("the same patches by a bare client, %d at once", bareWorkers), measured: took, base: bare, unit: "s",
		},
		{work: what + ": dry runs of deletions meanwhile", measured: float64(tries[0])},
		{work: what + ": of these, not refused", measured: float64(tries[1]), limit: new(0.0)},
	}, nil
}

// tryDelete asks for a dry run of the deletion of one of the objects.
func (m *selectedBench) tryDelete(ctx context.Context, i int) error {
	o := m.objects[i%len(m.objects)]
	return m.Client.Delete(ctx, configMap(o.Namespace, o.Name, nil), client.DryRunAll)
}
