// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestPropagationText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		conditions []corev1.NamespaceCondition
		want       string
	}{
		{"nobody says", []corev1.NamespaceCondition{{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionFalse}}, ""},
		{"complete", []corev1.NamespaceCondition{{Type: v1alpha1.ConditionPropagationComplete, Status: corev1.ConditionTrue, Reason: "Done", Message: "m"}},
			"  Propagation Complete: true\n"},
		{"not yet", []corev1.NamespaceCondition{{Type: v1alpha1.ConditionPropagationComplete, Status: corev1.ConditionFalse, Reason: "Waiting", Message: "2 of 3"}},
			"  Propagation Complete: false (Waiting): 2 of 3\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, propagationText(tt.conditions)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEventsText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	event := func(name, message string) corev1.Event {
		return corev1.Event{
			Source: corev1.EventSource{Component: hncv1alpha2.EventSource}, Reason: "Bad", Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Role", Namespace: "ns", Name: name},
		}
	}
	old, latest, series, others := event("a", "old"), event("a", "latest\n"), event("b", "series"), event("c", "of others")
	old.LastTimestamp, latest.LastTimestamp = ago(time.Hour), ago(time.Minute)
	series.Source.Component, series.ReportingController = "", hncv1alpha2.EventSource
	series.EventTime = metav1.MicroTime(ago(time.Hour))
	series.Series = &corev1.EventSeries{LastObservedTime: metav1.MicroTime(ago(time.Second))}
	others.Source.Component = "scheduler"

	want := `
Events from the objects in namespace ns
Last Seen Reason Object    Message
1s        Bad    Role:ns/b series
60s       Bad    Role:ns/a latest
`
	if diff := cmp.Diff(want, eventsText("ns", []corev1.Event{old, series, others, latest}, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = "\nNo recent HNC events for objects in this namespace\n"
	if diff := cmp.Diff(want, eventsText("ns", []corev1.Event{others}, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
