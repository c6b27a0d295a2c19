// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	manyNamespaces = 500
	// memoryBound is DESIGN's for the guard with all features.
	memoryBound = 150
	// readyBound is DESIGN's for a restart.
	readyBound = 5
	starts     = 5
)

// measureManager measures the start and the memory of an idle manager in a
// cluster of many namespaces.
func measureManager(ctx context.Context, s *subject) ([]row, error) {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range manyNamespaces {
		group.Go(func() error {
			return s.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", i)}})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("make namespaces: %w", err)
	}
	first, err := s.startManager(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.WaitEnforced(ctx); err != nil {
		return nil, err
	}
	var again []float64
	for range starts {
		if err := s.Manager.Stop(); err != nil {
			return nil, err
		}
		took, err := s.startManager(ctx)
		if err != nil {
			return nil, err
		}
		again = append(again, took.Seconds())
	}
	if err := s.WaitEnforced(ctx); err != nil {
		return nil, err
	}
	memory, err := residentMiB(s.Manager.PID())
	if err != nil {
		return nil, err
	}
	return []row{
		{work: "first start to ready", floor: "–", measured: first.Seconds(), unit: "s"},
		{work: "restart to ready", floor: "–", measured: median(again), unit: "s", bound: readyBound},
		{work: fmt.Sprintf("resident memory of the idle manager, %d namespaces", manyNamespaces), floor: "–", measured: memory, unit: "MiB", bound: memoryBound},
	}, nil
}

// residentMiB asks ps, which is everywhere.
func residentMiB(pid int) (float64, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask for the memory of process %d: %w", pid, err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return kib / 1024, nil
}
