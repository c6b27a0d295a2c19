// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// subject is a cluster with Holdfast installed, whose verdicts can be switched
// on and off.
type subject struct {
	*testkit.Env
	dir    string
	binary string
}

func newSubject(ctx context.Context) (*subject, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &subject{dir: dir}
	if s.binary, err = manager.Build(ctx, "holdfast-manager", false, os.Stderr); err != nil {
		return nil, err
	}
	// Never somebody's cluster: the bench stops Holdfast again and again, and makes namespaces by the hundred.
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s.Env = &testkit.Env{Cluster: c}
	if s.Config, err = c.RestConfig(); err != nil {
		return s, err
	}
	scheme, err := testkit.Scheme()
	if err != nil {
		return s, err
	}
	if s.Client, err = client.New(s.Config, client.Options{Scheme: scheme}); err != nil {
		return s, fmt.Errorf("make client: %w", err)
	}
	return s, manager.Install(ctx, c)
}

// startManager starts the manager and returns how long it took to be ready.
func (s *subject) startManager(ctx context.Context) (took time.Duration, err error) {
	begin := time.Now()
	s.Manager, err = manager.Start(ctx, s.Cluster, manager.Options{Binary: s.binary, Dir: s.dir})
	return time.Since(begin), err
}

func (s *subject) close() error {
	var errs []error
	if s.Manager != nil {
		errs = append(errs, s.Manager.Stop())
	}
	return errors.Join(append(errs, s.Stop(), os.RemoveAll(s.dir))...)
}

// on has every policy in force, off has none; both return when the API server
// acts on it.
func (s *subject) on(ctx context.Context) error {
	anchor := &rbacv1.ClusterRole{}
	anchor.Name = "holdfast-anchor"
	if err := s.Client.Create(ctx, anchor); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the anchor: %w", err)
	}
	return s.WaitEnforced(ctx)
}

func (s *subject) off(ctx context.Context) error {
	anchor := &rbacv1.ClusterRole{}
	anchor.Name = "holdfast-anchor"
	if err := s.Client.Delete(ctx, anchor); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the anchor: %w", err)
	}
	return s.WaitNotEnforced(ctx)
}
