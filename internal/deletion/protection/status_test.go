// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
)

var (
	earlier = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now     = earlier.Add(time.Minute)
)

func matches(n int64) v1alpha1.Matches {
	return v1alpha1.Matches{Total: n, Kinds: []v1alpha1.KindMatches{{Kind: "ConfigMap", Count: n}}}
}

func TestCompute(t *testing.T) {
	t.Parallel()
	missing := []v1alpha1.Unenforceable{
		{Kind: "Widget", Group: "example.com", Reason: v1alpha1.NoSuchKind, Message: "m"}, {Kind: "Node", Reason: v1alpha1.NotMarked},
	}
	condition := func(status metav1.ConditionStatus, reason, message string, generation int64, since time.Time) []metav1.Condition {
		return []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(since),
		}}
	}
	const all = "all that is selected is protected"
	const counting = "not everything that is selected has been looked at yet"
	settled := v1alpha1.ResourceDeletionProtectionStatus{
		ObservedGeneration: 1, Matches: matches(3), Conditions: condition(metav1.ConditionTrue, v1alpha1.ReasonProtected, all, 1, earlier),
	}
	tests := []struct {
		name   string
		before v1alpha1.ResourceDeletionProtectionStatus
		report marker.Report
		mode   configv1alpha1.Mode
		spec   int64
		want   v1alpha1.ResourceDeletionProtectionStatus
	}{
		{
			name: "everything is protected", report: marker.Report{Matches: matches(3), Complete: true}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 1, Matches: matches(3), Conditions: condition(metav1.ConditionTrue, v1alpha1.ReasonProtected, all, 1, now)},
		},
		{
			name: "what has not changed is not written", before: settled, report: marker.Report{Matches: matches(3), Complete: true}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: settled,
		},
		{
			name: "another count leaves the condition as it was", before: settled, report: marker.Report{Matches: matches(4), Complete: true}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 1, Matches: matches(4), Conditions: settled.Conditions},
		},
		{
			name: "at first it counts", report: marker.Report{Matches: matches(1)}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 1, Matches: matches(1), Conditions: condition(metav1.ConditionUnknown, v1alpha1.ReasonCounting, counting, 1, now)},
		},
		{
			name: "after a restart what was counted stands until all is counted again", before: settled, report: marker.Report{Matches: matches(1)}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: settled,
		},
		{
			name: "a spec that has changed is counted anew", before: settled, report: marker.Report{Matches: matches(1)}, mode: configv1alpha1.ModeEnforce, spec: 2,
			want: v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 2, Matches: matches(1), Conditions: condition(metav1.ConditionUnknown, v1alpha1.ReasonCounting, counting, 2, now)},
		},
		{
			name: "a mode that refuses nothing protects nothing", before: settled, report: marker.Report{Matches: matches(3), Complete: true}, mode: configv1alpha1.ModeAudit, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 1, Matches: matches(3), Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonNotEnforced, "the deletion guard is in mode Audit, which refuses nothing", 1, now)},
		},
		{
			name: "kinds that are not protected are named", before: settled, report: marker.Report{Matches: matches(3), Unenforceable: missing, Complete: true}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{
				ObservedGeneration: 1, Matches: matches(3), Unenforceable: missing,
				Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonUnenforceable, "not protected: Widget.example.com (NoSuchKind), Node (NotMarked)", 1, now),
			},
		},
		{
			name: "they are named even before all is counted", before: settled, report: marker.Report{Matches: matches(1), Unenforceable: missing}, mode: configv1alpha1.ModeEnforce, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{
				ObservedGeneration: 1, Matches: matches(1), Unenforceable: missing,
				Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonUnenforceable, "not protected: Widget.example.com (NoSuchKind), Node (NotMarked)", 1, now),
			},
		},
		{
			name: "and before the mode, which is mended elsewhere", report: marker.Report{Unenforceable: missing[:1], Complete: true}, mode: configv1alpha1.ModeWarn, spec: 1,
			want: v1alpha1.ResourceDeletionProtectionStatus{
				ObservedGeneration: 1, Unenforceable: missing[:1],
				Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonUnenforceable, "not protected: Widget.example.com (NoSuchKind)", 1, now),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.before.DeepCopy()
			compute(got, tt.spec, tt.report, tt.mode, now)
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalid_forgetsWhatWasCounted(t *testing.T) {
	t.Parallel()
	got := v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 1, Matches: matches(3), Unenforceable: []v1alpha1.Unenforceable{{Kind: "A"}}}
	invalid(&got, 2, errors.New("no such operator"), now)
	want := v1alpha1.ResourceDeletionProtectionStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalid, Message: "no such operator",
		ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(now),
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
