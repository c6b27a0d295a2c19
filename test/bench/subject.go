// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	// makers make objects in parallel.
	makers = 16
	// settle is a little more than the garbage collector, the manager and the API
	// server need after Holdfast is switched.
	settle = 3 * time.Second
	// withoutLease has no lease renewed, so that whatever the manager writes is
	// about objects.
	withoutLease = "--leader-elect=false"
)

// subject is a cluster with Holdfast installed, whose verdicts can be switched
// on and off.
type subject struct {
	*testkit.Env
	metadata    metadata.Interface
	dir, binary string
	managerArgs []string
	// workload is the guard if it is empty.
	workload manager.Workload
}

func newSubject(ctx context.Context, b *bench, o cluster.Options, managerArgs []string) (*subject, error) {
	// Never somebody's cluster: the bench stops Holdfast again and again, and makes namespaces by the hundred.
	o.Progress = os.Stderr
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &subject{Env: &testkit.Env{Cluster: c}, dir: b.dir, binary: b.binary, managerArgs: managerArgs}
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
	if s.metadata, err = metadata.NewForConfig(s.Config); err != nil {
		return s, fmt.Errorf("make metadata client: %w", err)
	}
	return s, manager.Install(ctx, c)
}

// starting is how long a process collects garbage more often, because it has just started, and
// a little more.
const starting = 12 * time.Second

// startManager starts the manager and returns how long it took to be ready.
func (s *subject) startManager(ctx context.Context) (took time.Duration, err error) {
	begin := time.Now()
	s.Manager, err = manager.Start(ctx, s.Cluster, manager.Options{Workload: s.workload, Binary: s.binary, Dir: s.dir, Args: s.managerArgs})
	return time.Since(begin), err
}

func (s *subject) close() error {
	var errs []error
	if s.Manager != nil {
		errs = append(errs, s.Manager.Stop())
	}
	return errors.Join(append(errs, s.Stop())...)
}

// makeNamespaces makes PREFIX-0, PREFIX-1 and so on.
func (s *subject) makeNamespaces(ctx context.Context, prefix string, n int) error {
	return each(n, makers, func(i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)}}
		if err := s.Client.Create(ctx, ns); err != nil {
			return fmt.Errorf("make namespace: %w", err)
		}
		return nil
	})
}

// switchTo waits a little more than until the switch is done: the garbage
// collector, the manager and the API server all have work with it.
func (s *subject) switchTo(ctx context.Context, on bool) error {
	change := s.off
	if on {
		change = s.on
	}
	if err := change(ctx); err != nil {
		return err
	}
	return pause(ctx, settle)
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
	if err := manager.StopEnforcing(ctx, s.Cluster); err != nil {
		return err
	}
	return s.WaitNotEnforced(ctx)
}

// apply applies files of the checkout.
func (s *subject) apply(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		if _, err := manager.Kubectl(ctx, s.Cluster, "apply", "--server-side", "-f", path); err != nil {
			return err
		}
	}
	return nil
}

// configure writes the configuration that the manager reads; the text is the part behind its
// kind.
func (s *subject) configure(ctx context.Context, text string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: manager.Namespace, Name: "holdfast"}}
	cm.Data = map[string]string{config.DataKey: config.Empty + text}
	if err := s.Client.Update(ctx, cm); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return nil
}
