// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	pauses := timing.Production()
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "flunders"}, "one", errors.New("ValidatingAdmissionPolicy 'holdfast-probe' denied request"))
	away := apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	type try struct {
		first, then error
		after       time.Duration
	}
	for _, tt := range []struct {
		name            string
		tries           []try
		ended, enforced bool
	}{
		{name: "a refusal shows at once that the policies are asked", tries: []try{{first: refused, then: refused}}, ended: true, enforced: true},
		{name: "what the API server does not refuse yet says nothing", tries: []try{{}, {after: 2 * pauses.ProbeSettle}}},
		{name: "one that lets it pass may not know the policies yet", tries: []try{{first: refused}, {first: refused, after: pauses.ProbeSettle - 1}}},
		{name: "and asks them once it knows them", tries: []try{{first: refused}, {first: refused, then: refused, after: calm}}, ended: true, enforced: true},
		{name: "one that still lets it pass asks no policy", tries: []try{{first: refused}, {first: refused, after: pauses.ProbeSettle}}, ended: true},
		{name: "one that does not answer stays unknown", tries: []try{{first: refused, then: away}, {first: refused, then: away, after: 2 * pauses.ProbeSettle}}},
		{name: "silence does not count as letting pass", tries: []try{{first: refused, then: away}, {first: refused, after: 2 * pauses.ProbeSettle}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, now := &probe{}, time.Unix(0, 0)
			for _, try := range tt.tries {
				now = now.Add(try.after)
				p.learn(try.first, try.then, now, pauses)
			}
			if p.ended != tt.ended || p.enforced != tt.enforced {
				t.Errorf("ended %t, enforced %t; want %t, %t", p.ended, p.enforced, tt.ended, tt.enforced)
			}
		})
	}
}

func TestProbe_pausesGrowAndAreBounded(t *testing.T) {
	t.Parallel()
	p, now, last, pauses := &probe{}, time.Unix(0, 0), time.Duration(0), timing.Production()
	for range 100 {
		p.learn(nil, nil, now, pauses)
		pause := p.next.Sub(now)
		if pause < last || pause > pauses.ProbeLongest {
			t.Fatalf("a pause of %s after one of %s", pause, last)
		}
		now, last = p.next, pause
	}
	if last != pauses.ProbeLongest {
		t.Errorf("the pauses end at %s, want %s", last, pauses.ProbeLongest)
	}
}
