// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

const (
	// shortestPause is between two writes of one replica. It bounds what two
	// replicas can do that disagree for good, because the clock of one is wrong.
	shortestPause = time.Second
	// longestPause is between two looks at the clock. Timers stand still while a
	// machine sleeps.
	longestPause = 10 * time.Minute
)

// SetupWithManager runs the Manager as a controller on every replica, leader or
// not. The manager's cache may be restricted to the one Secret.
func (m *Manager) SetupWithManager(mgr ctrl.Manager) error {
	// There is no event for a Secret that does not exist.
	m.Wake()
	theSecret := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return client.ObjectKeyFromObject(o) == m.secret
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("certs.secret").
		For(&corev1.Secret{}, builder.WithPredicates(theSecret)).
		WatchesRawSource(source.Channel(m.wakes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 1}).
		Complete(m)
	if err != nil {
		return fmt.Errorf("set up certificates: %w", err)
	}
	return nil
}

// Reconcile reads the Secret, writes it if it must change, and puts what it holds
// into force. It is given a name and not an object because the Secret may not
// exist.
func (m *Manager) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	again, err := m.reconcile(ctx)
	if err != nil {
		m.memory.fail(err)
		return reconcile.Result{}, err
	}
	pause := again.Sub(m.clock.Now())
	return reconcile.Result{RequeueAfter: max(shortestPause, min(pause, longestPause))}, nil
}

// reconcile returns when to look again.
func (m *Manager) reconcile(ctx context.Context) (time.Time, error) {
	secret, err := m.read(ctx)
	if err != nil {
		return time.Time{}, err
	}
	settings := m.settings()
	if settings.Provider == configv1alpha1.CertificatesBySecret {
		return m.take(ctx, secret, settings.Want)
	}
	return m.issue(ctx, secret, settings.Want)
}

// take puts into force what something else keeps in the Secret.
func (m *Manager) take(ctx context.Context, secret *corev1.Secret, want Want) (time.Time, error) {
	m.state = State{}
	if secret == nil {
		return time.Time{}, fmt.Errorf("take certificate from Secret %s: it does not exist", m.secret)
	}
	offer, err := provided(secret.Data, want.HostNames, m.clock.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("take certificate from Secret %s: %w", m.secret, err)
	}
	return earlier(m.adopt(ctx, offer, want.Overlap), offer.leaf().NotAfter), nil
}

// issue brings the Secret in line with what is wanted and puts it into force.
// Nothing is put into force that is not stored: another replica may have stored
// something else.
func (m *Manager) issue(ctx context.Context, secret *corev1.Secret, want Want) (time.Time, error) {
	if err := want.validate(); err != nil {
		// Nothing to retry: whoever corrects the settings wakes the Manager.
		return time.Time{}, reconcile.TerminalError(fmt.Errorf("check certificate settings: %w", err))
	}
	now := m.clock.Now()
	state, steps, check, err := Next(m.startingPoint(ctx, secret), now, want)
	if err != nil {
		return time.Time{}, err
	}
	saved, err := m.save(ctx, secret, state)
	if err != nil {
		return time.Time{}, err
	}
	if !saved {
		return now.Add(shortestPause), nil
	}
	for _, s := range steps {
		log.FromContext(ctx).Info("Changed the certificates", "action", s.Action, "reason", s.Reason)
	}
	m.state = state
	return earlier(m.adopt(ctx, issued(state), want.Overlap), check), nil
}

// startingPoint is what the Secret holds or, if it was deleted, what it held.
func (m *Manager) startingPoint(ctx context.Context, secret *corev1.Secret) State {
	logger := log.FromContext(ctx)
	if secret == nil {
		if m.state.complete() {
			logger.Info("The Secret was deleted, writing it again from memory")
			return m.state
		}
		return State{}
	}
	state, problems := Decode(secret.Data)
	if len(problems) > 0 {
		logger.Info("The Secret holds something that cannot be used", "problem", errors.Join(problems...).Error())
	}
	return state
}

// adopt puts an offer into force as far as it may be, tells whom it concerns, and
// returns when that must be looked at again, zero for never.
func (m *Manager) adopt(ctx context.Context, offer *material, overlap time.Duration) time.Time {
	c := m.memory.adopt(offer, m.clock.Now(), overlap)
	m.metrics.observe(c.before, c.after)
	replaced := c.before == nil || !c.before.leaf().Equal(c.after.leaf())
	if replaced {
		log.FromContext(ctx).Info("Serving another certificate", "notAfter", c.after.leaf().NotAfter)
	}
	if replaced || c.bundle {
		m.notify()
	}
	return c.again
}
