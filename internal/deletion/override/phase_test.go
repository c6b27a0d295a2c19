// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// asked is when the overrides of these tests were asked for.
var asked = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func rules(maximum time.Duration, approval configv1alpha1.ApprovalRule) configv1alpha1.OverridesConfiguration {
	return configv1alpha1.OverridesConfiguration{MaxDuration: metav1.Duration{Duration: maximum}, Approval: approval}
}

// override makes one for a duration, with what its status says: a phase, and from
// when to when it is active, as durations after it was asked for.
func override(duration, approvedBy string, phase v1alpha1.OverridePhase, active ...time.Duration) *v1alpha1.DeletionOverride {
	o := &v1alpha1.DeletionOverride{Spec: v1alpha1.DeletionOverrideSpec{
		Target:   v1alpha1.OverrideTarget{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web", UID: "u"},
		Duration: duration, RequestedBy: "alice", ApprovedBy: approvedBy,
	}}
	o.Name, o.CreationTimestamp = "urgent", metav1.NewTime(asked)
	o.Status.Phase = phase
	if len(active) == 2 {
		o.Status.ActiveFrom, o.Status.ExpiresAt = at(active[0]), at(active[1])
	}
	return o
}

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: asked.Add(d)} }

func TestNext(t *testing.T) {
	t.Parallel()
	const (
		fresh   = v1alpha1.OverridePhase("")
		waiting = v1alpha1.OverrideWaiting
		active  = v1alpha1.OverrideActive
		used    = v1alpha1.OverrideUsed
		expired = v1alpha1.OverrideExpired
		bad     = v1alpha1.OverrideInvalid
	)
	const (
		h     = time.Hour
		alone = configv1alpha1.ApprovalNotRequired
		two   = configv1alpha1.ApprovalRequired
	)
	tests := []struct {
		name  string
		in    *v1alpha1.DeletionOverride
		found Found
		rules configv1alpha1.OverridesConfiguration
		after time.Duration
		want  v1alpha1.OverridePhase
		from  *metav1.Time
		until *metav1.Time
		again time.Duration
	}{
		{name: "it is in force from when it was asked for", in: override("10m", "", fresh), found: FoundTarget, rules: rules(h, alone), after: time.Minute, want: active, from: at(0), until: at(10 * time.Minute), again: 9 * time.Minute},
		{name: "the maximum cuts it short", in: override("10h", "", fresh), found: FoundTarget, rules: rules(h, alone), want: active, from: at(0), until: at(h), again: h},
		{name: "what is seen too late was never in force", in: override("10m", "", fresh), found: FoundTarget, rules: rules(h, alone), after: 11 * time.Minute, want: expired, from: at(0), until: at(10 * time.Minute)},
		{name: "it waits for consent", in: override("10m", "", fresh), found: FoundTarget, rules: rules(h, two), want: waiting},
		{name: "it goes on waiting, however long", in: override("10m", "", waiting), found: FoundTarget, rules: rules(h, two), after: 100 * h, want: waiting},
		{name: "with consent it is in force from then", in: override("10m", "bob", waiting), found: FoundTarget, rules: rules(h, two), after: 2 * h, want: active, from: at(2 * h), until: at(2*h + 10*time.Minute), again: 10 * time.Minute},
		{name: "the moment of consent has whole seconds, as the API has", in: override("10m", "bob", waiting), found: FoundTarget, rules: rules(h, two), after: 1500 * time.Millisecond, want: active, from: at(time.Second), until: at(time.Second + 10*time.Minute), again: 10*time.Minute - 500*time.Millisecond},
		{name: "consent that nobody asked for counts the same", in: override("10m", "bob", fresh), found: FoundTarget, rules: rules(h, alone), after: 5 * time.Minute, want: active, from: at(5 * time.Minute), until: at(15 * time.Minute), again: 10 * time.Minute},
		{name: "what waits goes on waiting when consent is not required any more: nobody was asked for the right when it was made", in: override("10m", "", waiting), found: FoundTarget, rules: rules(h, alone), after: time.Minute, want: waiting},
		{name: "what is in force waits once consent is required", in: override("10m", "", active, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, two), after: time.Minute, want: waiting},

		{name: "in force it stays so, and ends when it was to end", in: override("10m", "", active, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, alone), after: 4 * time.Minute, want: active, from: at(0), until: at(10 * time.Minute), again: 6 * time.Minute},
		{name: "a restart after consent does not begin again", in: override("10m", "bob", active, h, h+10*time.Minute), found: FoundTarget, rules: rules(h, two), after: h + 9*time.Minute, want: active, from: at(h), until: at(h + 10*time.Minute), again: time.Minute},
		{name: "a smaller maximum does not change what is in force", in: override("10m", "", active, 0, 10*time.Minute), found: FoundTarget, rules: rules(time.Minute, alone), after: 4 * time.Minute, want: active, from: at(0), until: at(10 * time.Minute), again: 6 * time.Minute},
		{name: "it ends", in: override("10m", "", active, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, alone), after: 10 * time.Minute, want: expired, from: at(0), until: at(10 * time.Minute)},
		{name: "it ends although Holdfast was down then", in: override("10m", "", active, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, alone), after: 100 * h, want: expired, from: at(0), until: at(10 * time.Minute)},
		{name: "it is used when the target is gone", in: override("10m", "", active, 0, 10*time.Minute), found: FoundNothing, rules: rules(h, alone), after: time.Minute, want: used, from: at(0), until: at(10 * time.Minute)},
		{name: "it is used when the target was made again", in: override("10m", "", active, 0, 10*time.Minute), found: FoundOther, rules: rules(h, alone), after: time.Minute, want: used, from: at(0), until: at(10 * time.Minute)},
		{name: "it is used when the target went while Holdfast was down", in: override("10m", "", active, 0, 10*time.Minute), found: FoundNothing, rules: rules(h, alone), after: h, want: used, from: at(0), until: at(10 * time.Minute)},

		{name: "without a target it is invalid", in: override("10m", "", fresh), found: FoundNothing, rules: rules(h, alone), want: bad},
		{name: "with another target it is invalid", in: override("10m", "", fresh), found: FoundOther, rules: rules(h, alone), want: bad},
		{name: "when the target goes while it waits it is invalid", in: override("10m", "", waiting), found: FoundNothing, rules: rules(h, two), want: bad},
		{name: "without a duration it is invalid", in: override("soon", "", fresh), found: FoundTarget, rules: rules(h, alone), want: bad},

		{name: "used is over", in: override("10m", "", used, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, alone), after: time.Minute, want: used, from: at(0), until: at(10 * time.Minute)},
		{name: "expired is over", in: override("10m", "bob", expired, 0, 10*time.Minute), found: FoundTarget, rules: rules(h, two), after: time.Minute, want: expired, from: at(0), until: at(10 * time.Minute)},
		{name: "invalid is over", in: override("10m", "", bad), found: FoundTarget, rules: rules(h, alone), want: bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := tt.in.DeepCopy()
			next, again := Next(tt.in, tt.found, tt.rules, asked.Add(tt.after))
			want := v1alpha1.DeletionOverrideStatus{Phase: tt.want, ActiveFrom: tt.from, ExpiresAt: tt.until}
			got := next
			got.Message = ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if again != tt.again {
				t.Errorf("look again after %s, want %s", again, tt.again)
			}
			if diff := cmp.Diff(before, tt.in); diff != "" {
				t.Errorf("the override itself was changed:\n%s", diff)
			}
		})
	}
}

func TestNext_messages(t *testing.T) {
	t.Parallel()
	fresh := override("10m", "", "")
	tests := []struct {
		name  string
		in    *v1alpha1.DeletionOverride
		found Found
		rule  configv1alpha1.ApprovalRule
		want  string
	}{
		{name: "no target is named", in: fresh, found: FoundNothing, want: "spec.target: there is no v1 ConfigMap web in namespace shop"},
		{name: "another target says what to do", in: fresh, found: FoundOther, want: "spec.target: v1 ConfigMap web in namespace shop has another uid than u; ask again for the one that is there now"},
		{name: "a bad duration names the field", in: override("soon", "", ""), found: FoundTarget, want: "spec.duration: "},
		{name: "waiting says what to do", in: fresh, found: FoundTarget, rule: configv1alpha1.ApprovalRequired, want: "kubectl holdfast override approve urgent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if next, _ := Next(tt.in, tt.found, rules(time.Hour, tt.rule), asked); !strings.Contains(next.Message, tt.want) {
				t.Errorf("got %q, want %q", next.Message, tt.want)
			}
		})
	}
}

// FuzzNext lives the lives of overrides: the time goes on, the target goes, consent
// comes, Holdfast crashes before it has written a status, the configuration
// changes.
func FuzzNext(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		random := rand.New(rand.NewPCG(a, b))
		in := override([]string{"1s", "90s", "10m", "24h", "x"}[random.IntN(5)], "", "")
		now := asked
		for step := range 30 {
			now = now.Add(time.Duration(random.Int64N(int64(5 * time.Minute))))
			if random.IntN(5) == 0 {
				in.Spec.ApprovedBy = "bob"
			}
			r := rules([]time.Duration{time.Second, time.Hour}[random.IntN(2)], []configv1alpha1.ApprovalRule{
				configv1alpha1.ApprovalNotRequired, configv1alpha1.ApprovalRequired,
			}[random.IntN(2)])
			found := FoundTarget
			if random.IntN(10) == 0 {
				found = []Found{FoundOther, FoundNothing}[random.IntN(2)]
			}
			next, again := Next(in, found, r, now)
			checkNext(t, step, in, next, again, found, now)
			// Asked twice with the same facts, it says the same twice.
			written := in.DeepCopy()
			written.Status = next
			if twice, _ := Next(written, found, r, now); !cmp.Equal(next, twice) {
				t.Fatalf("step %d: the status does not settle:\n%s", step, cmp.Diff(next, twice))
			}
			if random.IntN(4) > 0 { // else it crashed before it wrote
				in = written
			}
		}
	})
}

func checkNext(t *testing.T, step int, in *v1alpha1.DeletionOverride, next v1alpha1.DeletionOverrideStatus, again time.Duration, found Found, now time.Time) {
	t.Helper()
	switch before := in.Status; before.Phase {
	case v1alpha1.OverrideUsed, v1alpha1.OverrideExpired, v1alpha1.OverrideInvalid:
		if !cmp.Equal(before, next) || again != 0 {
			t.Fatalf("step %d: what is over is not: %v became %v, again %s", step, before, next, again)
		}
	case v1alpha1.OverrideActive:
		if next.Phase == v1alpha1.OverrideActive && !cmp.Equal(before.ExpiresAt, next.ExpiresAt) {
			t.Fatalf("step %d: in force until %s became %s", step, before.ExpiresAt, next.ExpiresAt)
		}
	case v1alpha1.OverrideWaiting, "":
		if next.Phase == v1alpha1.OverrideUsed {
			t.Fatalf("step %d: used without having been in force: %v", step, next)
		}
	}
	if next.Phase != v1alpha1.OverrideActive {
		if again != 0 {
			t.Fatalf("step %d: %s, and to be looked at again", step, next.Phase)
		}
		return
	}
	duration, err := time.ParseDuration(in.Spec.Duration)
	switch {
	case found != FoundTarget:
		t.Fatalf("step %d: in force without its target", step)
	case err != nil || next.ExpiresAt.Sub(next.ActiveFrom.Time) > duration:
		t.Fatalf("step %d: in force for longer than was asked for: %v", step, next)
	case !now.Before(next.ExpiresAt.Time) || again != next.ExpiresAt.Sub(now):
		t.Fatalf("step %d: in force at %s until %s, looked at again after %s", step, now, next.ExpiresAt, again)
	}
}
