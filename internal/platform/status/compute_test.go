// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func good(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Good", Message: "fine"}
}

func bad(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: "not fine"}
}

func kinds(conditions []metav1.Condition) (out []string) {
	for _, c := range conditions {
		out = append(out, c.Type)
	}
	return out
}

func TestCompute_readyIsTrueWhenAllAre(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		observed    []metav1.Condition
		wantStatus  metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		{name: "all good", observed: []metav1.Condition{good("A"), good("B")}, wantStatus: metav1.ConditionTrue, wantReason: v1alpha1.ReasonReady, wantMessage: "Holdfast works as configured"},
		{name: "one bad", observed: []metav1.Condition{good("A"), bad("B", "Broken")}, wantStatus: metav1.ConditionFalse, wantReason: "Broken", wantMessage: "B: not fine"},
		{name: "two bad, and both are named", observed: []metav1.Condition{bad("A", "First"), bad("B", "Second")}, wantStatus: metav1.ConditionFalse, wantReason: "First", wantMessage: "A: not fine; B: not fine"},
		{name: "a message that the API server would refuse is cut", observed: []metav1.Condition{{Type: "A", Status: metav1.ConditionFalse, Reason: "Long", Message: strings.Repeat("x", 40_000)}}, wantStatus: metav1.ConditionFalse, wantReason: "Long", wantMessage: "A: " + strings.Repeat("x", messageLimit-3) + " …"},
		{name: "not known is not good", observed: []metav1.Condition{{Type: "A", Status: metav1.ConditionUnknown, Reason: "Unknown", Message: "who knows"}}, wantStatus: metav1.ConditionFalse, wantReason: "Unknown", wantMessage: "A: who knows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			next, _ := compute(v1alpha1.HoldfastStatus{}, Observed{Conditions: tt.observed}, 1, time.Unix(0, 0))
			got := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
			want := &metav1.Condition{
				Type: v1alpha1.ConditionReady, Status: tt.wantStatus, Reason: tt.wantReason, Message: tt.wantMessage,
				ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(time.Unix(0, 0)),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Ready (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompute_theSameAgainChangesNothing(t *testing.T) {
	t.Parallel()
	observed := Observed{Version: "1", Features: []v1alpha1.FeatureStatus{{Name: "f", Mode: "Off"}}, Conditions: []metav1.Condition{good("A")}}
	first, changed := compute(v1alpha1.HoldfastStatus{}, observed, 1, time.Unix(0, 0))
	if diff := cmp.Diff([]string{"A", "Ready"}, kinds(changed)); diff != "" {
		t.Errorf("changed at first (-want +got):\n%s", diff)
	}
	again, changed := compute(first, observed, 1, time.Unix(100, 0))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("an hour later (-first +again):\n%s", diff)
	}
	if len(changed) > 0 {
		t.Errorf("changed again: %v", changed)
	}
}
