// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/responder"
	"github.com/holdfast-dev/holdfast/internal/eviction/review"
)

// ResponderGate is the feature gate of the responder to Evictions of KEP-4563.
const ResponderGate = "EvictionRequestResponder"

// setupResponder makes the responder, and the watch that tells it of Evictions.
func (g *Guard) setupResponder() {
	g.responder = responder.New(responder.Options{
		Client: g.o.Client, On: g.responds, InScope: g.inScope, Judge: g.handler.judge.respond, Clock: clock.RealClock{}, Pauses: g.o.Pauses,
	})
	served := responder.NewServed(g.o.Client.Discovery())
	g.evictions = newWatch(g.o.Metadata, watch{
		resource: responder.Resource, label: v1alpha1.EvictionResponder, leaderOnly: true,
		settings: g.settings, handler: g.responder, pauses: g.o.Pauses,
		wanted: func(ctx context.Context, _ settings) bool { return g.o.Respond() && served.Ask(ctx) },
	})
}

// responds says whether Holdfast responds at all.
func (g *Guard) responds() bool {
	c, _ := g.o.Config()
	return g.o.Respond() && c.Mode != configv1alpha1.ModeOff
}

// inScope says whether a namespace is in scope. The API server looks at its labels
// for the webhook; nobody does for this.
func (g *Guard) inScope(ctx context.Context, namespace string) (bool, error) {
	s := g.settings()
	switch {
	case !s.scope.MatchesName(namespace):
		return false, nil
	case s.scope.Matches(namespace, nil):
		return true, nil
	}
	ns, err := g.handler.judge.facts.namespace(ctx, s, namespace)
	if errors.Is(err, errGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.scope.Matches(namespace, ns.Labels), nil
}

// respond judges for the responder, which asks again and again: metrics and the
// policy's status count the first time.
func (j *judge) respond(ctx context.Context, r policy.Request, first bool) (policy.Verdict, error) {
	if err := j.ready(); err != nil {
		return policy.Verdict{}, err
	}
	s, start := j.settings(), j.clock.Now()
	v, err := j.judge(ctx, s, r)
	switch {
	case errors.Is(err, errGone):
		return policy.Verdict{Outcome: policy.OutcomeOtherUID, Allowed: true}, nil
	case err != nil && s.config.OnOutage == configv1alpha1.OutageRefuses && s.config.Mode == configv1alpha1.ModeEnforce:
		return policy.Verdict{Mode: s.config.Mode, Outcome: policy.OutcomeError, Message: unjudged(err).Message, Err: err}, nil
	case err != nil:
		return policy.Verdict{}, err
	}
	if first {
		log := ctrl.LoggerFrom(ctx).WithValues("pod", r.Name)
		j.told(log, v, review.Review{Eviction: true, Request: r}, j.clock.Since(start))
	}
	return v, nil
}
