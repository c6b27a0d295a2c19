// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	loose = "loose"
	// batches of labelled and of unlabelled objects take turns.
	batches = 10
)

// measureLabelled measures what labels alone cost: Holdfast marks the namespaces
// of the objects, and not the objects.
func measureLabelled(ctx context.Context, b *bench) ([]row, error) {
	b.progress("labelled: a cluster")
	s, err := b.running(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	for _, prefix := range []string{many, loose} {
		if err := s.makeNamespaces(ctx, prefix, manyNamespaces); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("%s with the label in %d namespaces", count(b.marked, "ConfigMap"), manyNamespaces)
	u, err := newUpkeep(ctx, b, s, what, b.marked)
	if err != nil {
		return nil, err
	}
	with, without, err := s.makeInTurns(ctx, b.marked/batches)
	if err != nil {
		return nil, err
	}
	made := time.Now()
	each := fmt.Sprintf(": %d protected objects", b.marked/manyNamespaces)
	if err := s.described(ctx, strings.TrimPrefix(each, ": ")); err != nil {
		return nil, err
	}
	described := time.Since(made)
	after, err := s.rest(ctx)
	if err != nil {
		return nil, err
	}
	rows := []row{
		{
			work:  fmt.Sprintf("%s more with the label made by %d clients, until their namespaces are marked", count(b.marked/batches, "ConfigMap"), makers),
			floor: "the same without the label", measured: median(with), base: median(without), unit: "s",
		},
		{work: what + ": from the last one made until the marks count all", measured: described.Seconds(), unit: "s"},
	}
	rows = append(rows, writeRows(what, b.marked, after.get(marksWritten)-u.before.get(marksWritten), after.writes()-u.before.writes())...)
	more, err := u.rows(ctx)
	return append(rows, more...), err
}

// makeInTurns makes objects in batches, with the label and without, and returns
// how many seconds each batch took.
func (s *subject) makeInTurns(ctx context.Context, size int) (with, without []float64, err error) {
	for batch := range batches {
		turns := []func() error{
			func() error {
				took, err := s.makeBatch(ctx, many, batch, size, protectedLabel)
				with = append(with, took)
				return err
			},
			func() error {
				took, err := s.makeBatch(ctx, loose, batch, size, nil)
				without = append(without, took)
				return err
			},
		}
		first := batch % 2
		for _, turn := range []func() error{turns[first], turns[1-first]} {
			if err := turn(); err != nil {
				return nil, nil, err
			}
		}
	}
	return with, without, nil
}

// makeBatch makes objects, and where they are labelled waits for the marks of
// their namespaces.
func (s *subject) makeBatch(ctx context.Context, prefix string, batch, size int, labels map[string]string) (seconds float64, err error) {
	begin := time.Now()
	err = each(size, makers, func(i int) error {
		return s.Client.Create(ctx, configMap(manyNamespace(prefix, i), fmt.Sprintf("%d-%d", batch, i), labels))
	})
	if err != nil {
		return 0, fmt.Errorf("make objects: %w", err)
	}
	if labels != nil {
		err = s.described(ctx, "protected object")
	}
	return time.Since(begin).Seconds(), err
}

// described waits until the marks of all namespaces say something.
func (s *subject) described(ctx context.Context, text string) error {
	return await(ctx, "the marks of namespaces say "+text, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		for i := range manyNamespaces {
			var ns corev1.Namespace
			if err := s.Client.Get(ctx, client.ObjectKey{Name: manyNamespace(many, i)}, &ns); err != nil {
				return false, fmt.Errorf("read namespace: %w", err)
			}
			if ns.Labels[v1alpha1.HoldsProtectedMark] == "" || !strings.Contains(ns.Annotations[v1alpha1.HoldsProtectedMark], text) {
				return false, nil
			}
		}
		return true, nil
	})
}
