// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/progress"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

var now = time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(d))) }

// status is Holdfast's part, which began an hour ago.
func status(change func(*lifecyclev1alpha1.ResponderStatus)) lifecyclev1alpha1.ResponderStatus {
	out := lifecyclev1alpha1.ResponderStatus{Name: v1alpha1.EvictionResponder, StartTime: at(-time.Hour)}
	if change != nil {
		change(&out)
	}
	return out
}

// beating has sent a heartbeat with a message.
func beating(ago time.Duration, message string) lifecyclev1alpha1.ResponderStatus {
	return status(func(r *lifecyclev1alpha1.ResponderStatus) { r.HeartbeatTime, r.Message = at(-ago), &message })
}

func held(due time.Time) progress.Found {
	return progress.Found{Verdict: policy.Verdict{
		Mode: configv1alpha1.ModeEnforce, Outcome: policy.OutcomeHeld, Policy: "db", Message: "EvictionPolicy db: wait", Due: due,
	}}
}

func TestNext(t *testing.T) {
	t.Parallel()
	const wait = "EvictionPolicy db: wait"
	enforced := func(v policy.Verdict) progress.Found {
		v.Mode = configv1alpha1.ModeEnforce
		return progress.Found{Verdict: v}
	}
	// wrote has the heartbeat of now; change may be nil.
	wrote := func(message string, change func(*lifecyclev1alpha1.ResponderStatus)) *lifecyclev1alpha1.ResponderStatus {
		out := beating(0, message)
		if change != nil {
			change(&out)
		}
		return &out
	}
	done := func(r *lifecyclev1alpha1.ResponderStatus) { r.CompletionTime = at(0) }
	expects := func(d time.Duration) func(*lifecyclev1alpha1.ResponderStatus) {
		return func(r *lifecyclev1alpha1.ResponderStatus) { r.ExpectedCompletionTime = at(d) }
	}
	tests := []struct {
		name   string
		before lifecyclev1alpha1.ResponderStatus
		found  progress.Found
		want   *lifecyclev1alpha1.ResponderStatus
	}{
		{"a pod that is held is reported at once", status(nil), held(time.Time{}), wrote(wait, nil)},
		{"the end is expected at the deadline", status(nil), held(now.Add(time.Hour)), wrote(wait, expects(time.Hour))},
		{"a deadline that has passed is not expected", status(nil), held(now.Add(-time.Second)), wrote(wait, nil)},
		{"with nothing new there is no write", beating(2*time.Minute, wait), held(time.Time{}), nil},
		{"the heart beats every three minutes", beating(3*time.Minute, wait), held(time.Time{}), wrote(wait, nil)},
		{"something new is told", beating(30*time.Second, "other"), held(time.Time{}), wrote(wait, nil)},
		{"something new waits for its turn", beating(19*time.Second, "other"), held(time.Time{}), nil},
		{"an expected end that moved is told", beating(time.Minute, wait), held(now.Add(time.Hour)), wrote(wait, expects(time.Hour))},
		{"the end does not wait", beating(time.Second, wait), progress.Found{Gone: true}, wrote("The pod is gone", done)},
		{"what has ended is expected no more", func() lifecyclev1alpha1.ResponderStatus {
			out := beating(time.Second, wait)
			expects(time.Hour)(&out)
			return out
		}(), progress.Found{Finished: true}, wrote("The pod has finished", done)},
		{"a pod that terminates is waited for", status(nil), progress.Found{Terminating: at(time.Minute)}, wrote("The pod is terminating", expects(time.Minute))},
		{"a pod that ought to be gone is waited for a little longer", status(nil), progress.Found{Terminating: at(-time.Minute)}, wrote("The pod is terminating", nil)},
		{
			"a pod that does not end is left to others", status(nil), progress.Found{Terminating: at(-6 * time.Minute)},
			wrote("The pod was to be gone by 2026-11-03T09:54:00Z and is still terminating; others may know more", done),
		},
		{"no rule", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeNone, Allowed: true}), wrote("No rule of Holdfast holds the pod", done)},
		{
			"a policy that lets it pass", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeReleased, Policy: "db", Allowed: true}),
			wrote("EvictionPolicy db lets the eviction pass", done),
		},
		{
			"a deadline that lets it pass", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeOverdue, Policy: "db", Allowed: true, Warning: "too late"}),
			wrote("too late", done),
		},
		{
			"a deadline that goes on to refuse", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeOverdue, Policy: "db", Message: "wait. It is late"}),
			wrote("wait. It is late", nil),
		},
		{
			"a policy that cannot be applied, and refuses", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeError, Message: "no", Err: errors.New("no")}),
			wrote("no", nil),
		},
		{
			"a pod elsewhere is done with", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeElsewhere, Policy: "db", Message: "not drained"}),
			wrote("not drained", done),
		},
		{
			"below Enforce nothing is held", status(nil),
			progress.Found{Verdict: policy.Verdict{Mode: configv1alpha1.ModeWarn, Outcome: policy.OutcomeHeld, Policy: "db", Message: wait}},
			wrote(wait+" (only told, in mode Warn)", done),
		},
		{
			"a Kafka pod that stays", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeHeld, DrainCleaner: true, Message: policy.RollMessage}),
			wrote(policy.RollMessage, nil),
		},
		{
			"a Kafka pod that may go", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeAllowed, DrainCleaner: true, Allowed: true}),
			wrote("The Strimzi Cluster Operator was asked to roll the pod; the eviction passes", done),
		},
		{"another pod has the name", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeOtherUID, Allowed: true}), wrote("The pod is gone", done)},
		{
			"a pod that has begun to leave since it was looked at is waited for, whatever the policy says of it",
			status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeLeaving, Allowed: true, Policy: "db"}), wrote("The pod is terminating", nil),
		},
		{
			"the clock of whoever made the Eviction is ahead",
			lifecyclev1alpha1.ResponderStatus{Name: v1alpha1.EvictionResponder, StartTime: at(20 * time.Second)}, progress.Found{Gone: true},
			wrote("The pod is gone", func(r *lifecyclev1alpha1.ResponderStatus) {
				r.StartTime, r.HeartbeatTime, r.CompletionTime = at(20*time.Second), at(20*time.Second), at(20*time.Second)
			}),
		},
		{
			"a message is cut to what fits", status(nil), enforced(policy.Verdict{Outcome: policy.OutcomeHeld, Message: strings.Repeat("ä", 4001)}),
			wrote(strings.Repeat("ä", 3997)+"...", nil),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := tt.before.DeepCopy()
			got, again := progress.Next(tt.before, tt.found, now.Add(900*time.Millisecond), timing.Production()) // the API has whole seconds
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what is written (-want +got):\n%s", diff)
			}
			if done := got != nil && got.CompletionTime != nil; done != (again == 0) {
				t.Errorf("done is %v, and the next look is in %s", done, again)
			}
			if diff := cmp.Diff(*before, tt.before); diff != "" {
				t.Errorf("the input changed:\n%s", diff)
			}
		})
	}
}

func TestMine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*lifecyclev1alpha1.Eviction)
		want   bool
	}{
		{"Holdfast is active", func(*lifecyclev1alpha1.Eviction) {}, true},
		{"another responder is", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.TargetResponders[1].State = lifecyclev1alpha1.ResponderStateInactive
		}, false},
		{"Holdfast was canceled", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.TargetResponders[1].State = lifecyclev1alpha1.ResponderStateCanceled
		}, false},
		{"Holdfast is not among the responders", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.TargetResponders = in.Status.TargetResponders[:1]
		}, false},
		{"its status is not there yet", func(in *lifecyclev1alpha1.Eviction) { in.Status.Responders = nil }, false},
		{"its start is not there yet", func(in *lifecyclev1alpha1.Eviction) { in.Status.Responders[1].StartTime = nil }, false},
		{"it has completed", func(in *lifecyclev1alpha1.Eviction) { in.Status.Responders[1].CompletionTime = at(0) }, false},
		{"one of two requesters withdrew", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.Requesters = []lifecyclev1alpha1.Requester{{Name: "a.example/x", Intent: "Withdrawn"}, {Name: "b.example/x", Intent: "Eviction"}}
		}, true},
		{"all requesters withdrew", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.Requesters = []lifecyclev1alpha1.Requester{{Name: "a.example/x", Intent: "Withdrawn"}}
		}, false},
		{"the pod has been evicted", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.Conditions = []metav1.Condition{{Type: "TargetEvicted", Status: metav1.ConditionTrue}}
		}, false},
		{"the eviction has failed", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: metav1.ConditionTrue}}
		}, false},
		{"the eviction is awaited", func(in *lifecyclev1alpha1.Eviction) {
			in.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: metav1.ConditionFalse}}
		}, true},
		{"it is not about a pod", func(in *lifecyclev1alpha1.Eviction) { in.Spec.Target.Pod = nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := &lifecyclev1alpha1.Eviction{
				Spec: lifecyclev1alpha1.EvictionSpec{Target: lifecyclev1alpha1.EvictionTarget{Pod: &lifecyclev1alpha1.EvictionPodReference{Name: "p"}}},
				Status: lifecyclev1alpha1.EvictionStatus{
					TargetResponders: []lifecyclev1alpha1.TargetResponder{
						{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction, State: lifecyclev1alpha1.ResponderStateInactive},
						{Name: v1alpha1.EvictionResponder, State: lifecyclev1alpha1.ResponderStateActive},
					},
					Responders: []lifecyclev1alpha1.ResponderStatus{{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction}, status(nil)},
				},
			}
			tt.change(in)
			got, ok := progress.Mine(in)
			if ok != tt.want {
				t.Fatalf("got %v, want %v", ok, tt.want)
			}
			if ok && got.Name != v1alpha1.EvictionResponder {
				t.Errorf("it is that of %s", got.Name)
			}
		})
	}
}
