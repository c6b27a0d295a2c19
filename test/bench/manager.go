// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

const (
	// memoryBound is DESIGN's for the guard with all features.
	memoryBound = 150
	// readyBound is DESIGN's for a restart.
	readyBound = 5
)

// allFeatures has each of the guard's features on.
const allFeatures = "featureGates: {ServiceAccountPatching: true}\nhierarchy: {mode: Enforce}\nserviceAccounts: {mode: Enforce}\n"

// withAllFeatures is a cluster whose manager has all features on, and does not run yet.
func (b *bench) withAllFeatures(ctx context.Context) (*subject, error) {
	s, err := b.installed(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.apply(ctx, "config/crd/hnc", "config/rbac/hierarchy.yaml", "internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml"); err != nil {
		return nil, err
	}
	return s, s.configure(ctx, allFeatures)
}

// measureManager measures the start and the memory of an idle manager with all features
// in a cluster of many namespaces.
func measureManager(ctx context.Context, b *bench) ([]row, error) {
	s, err := b.withAllFeatures(ctx)
	if err != nil {
		return nil, err
	}
	first, err := s.startManager(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.WaitEnforced(ctx); err != nil {
		return nil, err
	}
	var again []float64
	for range b.starts {
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
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	memory, err := s.residentMiB()
	if err != nil {
		return nil, err
	}
	return []row{
		{work: "first start to ready", measured: first.Seconds(), unit: "s"},
		{work: "restart to ready", measured: median(again), unit: "s", limit: new(float64(readyBound))},
		{work: fmt.Sprintf("resident memory of the idle manager with all features, %s", count(b.namespaces, "namespace")), measured: memory, unit: "MiB", limit: new(float64(memoryBound))},
	}, nil
}
