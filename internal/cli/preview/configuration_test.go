// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"testing"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestJudge_byTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scope string
		unclaimed   bool
		owner       object.Sync
		writes      bool
		claims      bool
	}{
		{name: "it declares a namespace in scope", scope: "n", owner: "shop", writes: true, claims: true},
		{name: "on one that is out of scope nothing is written", scope: "m", owner: "shop"},
		{name: "without claims each decides for itself", scope: "*", unclaimed: true, writes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inputOf(t, "n n/a", "", "")
			var err error
			if in.Scope, err = scope.Compile(configv1alpha1.Scope{Namespaces: []string{tt.scope}}); err != nil {
				t.Fatal(err)
			}
			in.Unclaimed = tt.unclaimed
			l := &look{Input: in, spaces: in.judge(map[string]space{"n": namespaceOf(t, "-")})}
			for _, id := range ids("n n/a") {
				if f := l.facts(id, true, true, nil); f.OutOfScope == tt.writes {
					t.Errorf("%s: out of scope is %t", id, f.OutOfScope)
				}
			}
			if owner, claims := l.spaces.owner(object.NamespaceID("n"), true), len(l.spaces.claims()) > 0; owner != tt.owner || claims != tt.claims {
				t.Errorf("owner %q, claims %t", owner, claims)
			}
		})
	}
}

func TestLook_pruningWhatIsOutOfScope(t *testing.T) {
	t.Parallel()
	in := inputOf(t, "", "n/a", "")
	in.Scope, _ = scope.Compile(configv1alpha1.Scope{Namespaces: []string{"m"}})
	l := &look{Input: in, spaces: in.judge(map[string]space{"n": namespaceOf(t, "-")})}
	p := l.pruning(ids("n/a")[0], true, func(f *decide.Facts) { f.Seen = &live.Seen{Manager: in.Sync.Manager()} }, "")
	if p.Action != decide.Keep || p.Blocker != BlockedByScope {
		t.Errorf("got %+v", p)
	}
}
