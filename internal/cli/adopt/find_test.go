// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/rivals"
)

func TestFound_deadOrAlive(t *testing.T) {
	t.Parallel()
	service := types.NamespacedName{Namespace: "hnc-system", Name: "hnc-webhook-service"}
	of := func(wanted, running, ready int32, endpoints int, urls ...string) found {
		return found{
			facts: rivals.Facts{
				Deployments: []rivals.Deployment{{Namespace: "hnc-system", Name: "hnc", Wanted: wanted, Running: running, Ready: ready}},
				Webhooks:    []rivals.Webhook{{Kind: validating, Name: "w", Services: map[types.NamespacedName]int{service: endpoints}, URLs: urls}},
			},
			webhooks: []webhook{{Kind: validating, Name: "w", closed: true}},
		}
	}
	open := of(1, 1, 0, 0)
	open.webhooks[0].closed = false
	without := of(0, 0, 0, 0)
	without.webhooks, without.facts.Webhooks = nil, nil
	tests := []struct {
		name              string
		found             found
		dead, locks, gone bool
	}{
		{"it runs", of(1, 1, 1, 1), false, false, false},
		{"a pod that is ready, and no endpoint yet", of(1, 1, 1, 0), false, false, false},
		{"an endpoint of somebody else's pod", of(0, 0, 0, 1), false, false, false},
		{"a URL may be answered", of(0, 0, 0, 0, "https://example.com"), false, false, false},
		{"pods that never become ready", of(1, 1, 0, 0), true, true, false},
		{"scaled to nothing", of(0, 0, 0, 0), true, true, false},
		{"webhooks that fail open lock nothing", open, true, false, false},
		{"no webhooks and no pods", without, true, false, true},
		{"nothing", found{}, true, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.found.dead() != tt.dead || tt.found.locks() != tt.locks || tt.found.gone() != tt.gone {
				t.Errorf("dead %t, locks %t, gone %t", tt.found.dead(), tt.found.locks(), tt.found.gone())
			}
		})
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	a, b, c := id{"A", "a"}, id{"B", "b"}, id{"C", "c"}
	for want, list := range map[string][]id{"": nil, "A a": {a}, "A a and B b": {a, b}, "A a, B b and C c": {a, b, c}} {
		if got := join(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
