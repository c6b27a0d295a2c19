// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// waitingPod is since when a pod waits for whoever moves it, and until when.
type waitingPod struct {
	By heldBy `json:"by"`
	// Since is the first of an unbroken row of evictions; LastAsked is to about a
	// minute, and not known of the Drain Cleaner's pods.
	Since     metav1.Time  `json:"since"`
	LastAsked *metav1.Time `json:"lastAsked,omitempty"`
	// Deadline ends it; nil for none. Then is what becomes of evictions after it.
	Deadline *metav1.Time            `json:"deadline,omitempty"`
	Then     v1alpha1.OverdueVerdict `json:"then,omitempty"`
	// Lapsed says that nobody has asked for so long that the next eviction counts
	// as the first.
	Lapsed bool `json:"lapsed,omitempty"`
}

// waitingOf says whether a pod waits; nil if it does not. The policy is found by
// its name among the settings; of one that is not there no deadline is known.
func waitingOf(pod *corev1.Pod, s policy.Settings, now time.Time) *waitingPod {
	asked, ok := policy.Asked(&pod.ObjectMeta)
	if !ok {
		return rolledSince(&pod.ObjectMeta)
	}
	w := &waitingPod{By: heldBy{Kind: byPolicy, Name: asked.Policy}, Since: asked.First, LastAsked: &asked.Last}
	p := s.Policy(asked.Policy)
	if p == nil {
		return w
	}
	w.Lapsed = now.Sub(asked.Last.Time) > p.Forget()
	if b := p.Bound(); b.Deadline > 0 {
		w.Deadline, w.Then = &metav1.Time{Time: asked.First.Add(b.Deadline)}, b.Then
	}
	return w
}

// rolledSince is for a pod that the rules of the Drain Cleaner have annotated: the
// API server knows when Holdfast did. What others have annotated does not count.
func rolledSince(o *metav1.ObjectMeta) *waitingPod {
	if o.Annotations[v1alpha1.StrimziRollAnnotation] != v1alpha1.StrimziRollValue {
		return nil
	}
	for _, f := range o.ManagedFields {
		if f.Manager == v1alpha1.EvictionFieldManager && f.Time != nil && ownsAnnotation(f.FieldsV1, v1alpha1.StrimziRollAnnotation) {
			return &waitingPod{By: heldBy{Kind: byDrainCleaner}, Since: *f.Time}
		}
	}
	return nil
}

func ownsAnnotation(fields *metav1.FieldsV1, key string) bool {
	var owned struct {
		Metadata struct {
			Annotations map[string]json.RawMessage `json:"f:annotations"`
		} `json:"f:metadata"`
	}
	if fields == nil || json.Unmarshal(fields.GetRawBytes(), &owned) != nil {
		return false
	}
	_, ok := owned.Metadata.Annotations["f:"+key]
	return ok
}

// left says how long a pod is still held.
func (w waitingPod) left(now time.Time) string {
	switch {
	case w.Lapsed:
		return "nobody asks any more"
	case w.Deadline == nil:
		return "its operator moves it"
	case w.Deadline.After(now):
		return duration.HumanDuration(w.Deadline.Sub(now)) + " left"
	case w.Then == v1alpha1.OverdueDeny:
		return "overdue, and still refused"
	}
	return "overdue: the next eviction passes"
}

// bounds says of a policy in a few words what ends its hold on a pod that does
// not wait yet.
func bounds(b policy.Bound) string {
	text := "its operator moves it"
	if b.Until != "" {
		text = "the policy's condition holds"
	}
	if b.Deadline > 0 && b.Then == v1alpha1.OverdueAllow {
		text += ", " + duration.ShortHumanDuration(b.Deadline) + " at most"
	}
	return text
}
