// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// compute makes the next status out of the last one and of what is observed
// now, and returns the conditions that changed. Ready is true when all observed
// conditions are; its message names those that are not.
func compute(last v1alpha1.HoldfastStatus, observed Observed, generation int64, now time.Time) (next v1alpha1.HoldfastStatus, changed []metav1.Condition) {
	last.DeepCopyInto(&next)
	next.Version, next.Features, next.Configuration = observed.Version, observed.Features, observed.Configuration
	if len(next.Configuration) > configurationLimit {
		next.Configuration = ""
	}
	next.Conditions = slices.DeleteFunc(next.Conditions, func(c metav1.Condition) bool { // of a feature that is off now
		return c.Type != v1alpha1.ConditionReady && !slices.ContainsFunc(observed.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
	})
	for _, c := range append(observed.Conditions, ready(observed.Conditions)) {
		c.ObservedGeneration = generation
		c.Message = cut(c.Message)
		c.LastTransitionTime = metav1.NewTime(now)
		before := meta.FindStatusCondition(last.Conditions, c.Type)
		if before == nil || before.Status != c.Status || before.Reason != c.Reason {
			changed = append(changed, c)
		}
		meta.SetStatusCondition(&next.Conditions, c)
	}
	return next, changed
}

// configurationLimit is that of the field.
const configurationLimit = 1 << 16

// messageLimit is that of an Event; a condition could be longer, and nobody
// would read it.
const messageLimit = 1000

// cut shortens a message that the API server would refuse.
func cut(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit], "") + " …"
}

// summary names conditions for the log.
func summary(conditions []metav1.Condition) (out []string) {
	for _, c := range conditions {
		out = append(out, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return out
}

func ready(observed []metav1.Condition) metav1.Condition {
	var wrong []string
	reason := v1alpha1.ReasonReady
	for _, c := range observed {
		if c.Status == metav1.ConditionTrue {
			continue
		}
		if len(wrong) == 0 {
			reason = c.Reason
		}
		wrong = append(wrong, c.Type+": "+c.Message)
	}
	if len(wrong) == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reason, Message: "Holdfast works as configured"}
	}
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: strings.Join(wrong, "; ")}
}
