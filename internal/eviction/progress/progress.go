// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress says what Holdfast reports about an Eviction of the API group
// lifecycle.k8s.io (KEP-4563), in which it is one of the responders.
package progress

import (
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const (
	// overstay is how much longer than its grace period a pod may terminate until
	// other responders get their turn.
	overstay = 5 * time.Minute
	// messageLimit is that of the field, in characters.
	messageLimit = 4000
)

// Mine returns Holdfast's part of an Eviction, and false where it has nothing to
// do: it is not the active responder, it has completed, nobody wants the eviction
// any more, or the Eviction has ended.
func Mine(in *lifecyclev1alpha1.Eviction) (lifecyclev1alpha1.ResponderStatus, bool) {
	if in.Spec.Target.Pod == nil || !active(in.Status.TargetResponders) || withdrawn(in.Status.Requesters) || ended(in.Status.Conditions) {
		return lifecyclev1alpha1.ResponderStatus{}, false
	}
	for i := range in.Status.Responders {
		if r := in.Status.Responders[i]; r.Name == v1alpha1.EvictionResponder {
			return r, r.StartTime != nil && r.CompletionTime == nil
		}
	}
	return lifecyclev1alpha1.ResponderStatus{}, false
}

func active(all []lifecyclev1alpha1.TargetResponder) bool {
	for i := range all {
		if all[i].Name == v1alpha1.EvictionResponder {
			return all[i].State == lifecyclev1alpha1.ResponderStateActive
		}
	}
	return false
}

// withdrawn says whether all who asked have changed their minds. Responders stop
// then, and the API's controller marks them as canceled.
func withdrawn(all []lifecyclev1alpha1.Requester) bool {
	for i := range all {
		if all[i].Intent != lifecyclev1alpha1.RequesterIntentWithdrawn {
			return false
		}
	}
	return len(all) > 0
}

func ended(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, string(lifecyclev1alpha1.EvictionConditionTargetEvicted)) ||
		meta.IsStatusConditionTrue(conditions, string(lifecyclev1alpha1.EvictionConditionFailed))
}

// Found is how things stand with the pod of an Eviction.
type Found struct {
	// Gone says that there is no pod of the UID, and Finished that its containers
	// have ended for good.
	Gone, Finished bool
	// Terminating is when its grace period ends; nil if nobody has deleted it.
	Terminating *metav1.Time
	// Verdict counts if the pod is none of these.
	Verdict policy.Verdict
}

// Next returns what to write as Holdfast's part, nil for nothing, and when to look
// again, 0 for never. The times obey the API's rules: they are never before the
// start or the last heartbeat, whatever the clocks of others say.
func Next(before lifecyclev1alpha1.ResponderStatus, f Found, now time.Time, pauses timing.Pauses) (next *lifecyclev1alpha1.ResponderStatus, again time.Duration) {
	r := reportOn(f, now)
	at := metav1.NewTime(now.Truncate(time.Second))
	for _, floor := range []*metav1.Time{before.StartTime, before.HeartbeatTime} {
		if floor != nil && at.Before(floor) {
			at = *floor
		}
	}
	after := before.DeepCopy()
	after.HeartbeatTime, after.Message, after.ExpectedCompletionTime = &at, new(cut(r.message)), nil
	if r.done {
		after.CompletionTime = &at
		return after, 0
	}
	if r.due.After(at.Time) {
		after.ExpectedCompletionTime = new(metav1.NewTime(r.due.Truncate(time.Second)))
	}
	if before.HeartbeatTime == nil {
		return after, pauses.EvictionLook
	}
	since := now.Sub(before.HeartbeatTime.Time)
	if since >= pauses.EvictionHeartbeat || since >= pauses.EvictionNews && differ(&before, after) {
		return after, pauses.EvictionLook
	}
	return nil, pauses.EvictionLook
}

func differ(a, b *lifecyclev1alpha1.ResponderStatus) bool {
	return a.Message == nil || *a.Message != *b.Message || !a.ExpectedCompletionTime.Equal(b.ExpectedCompletionTime)
}

// cut keeps a message within the limit of the field.
func cut(message string) string {
	if r := []rune(message); len(r) > messageLimit {
		return string(r[:messageLimit-3]) + "..."
	}
	return message
}
