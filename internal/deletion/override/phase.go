// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Found is what the target of an override turned out to be.
type Found string

const (
	// FoundTarget says that the object is there.
	FoundTarget Found = "target"
	// FoundOther says that another object has its name.
	FoundOther Found = "other"
	// FoundNothing says that there is no such object.
	FoundNothing Found = "nothing"
)

// Next says where an override stands now, and after which time to look again; 0
// for never. What is over stays over.
func Next(in *v1alpha1.DeletionOverride, found Found, rules configv1alpha1.OverridesConfiguration, now time.Time) (next v1alpha1.DeletionOverrideStatus, again time.Duration) {
	next = *in.Status.DeepCopy()
	switch next.Phase {
	case v1alpha1.OverrideUsed, v1alpha1.OverrideExpired, v1alpha1.OverrideInvalid:
		return next, 0
	}
	duration, err := time.ParseDuration(in.Spec.Duration)
	if err != nil {
		return invalid(next, "spec.duration: "+err.Error()), 0
	}
	if found != FoundTarget {
		if next.Phase == v1alpha1.OverrideActive {
			next.Phase, next.Message = v1alpha1.OverrideUsed, "the target was deleted while the override was in force"
			return next, 0
		}
		return invalid(next, missing(in, found)), 0
	}
	if in.Spec.ApprovedBy == "" && (rules.Approval == configv1alpha1.ApprovalRequired || next.Phase == v1alpha1.OverrideWaiting) {
		// Nobody was asked for the right to unprotect when it was made, so it waits
		// also where the configuration has changed since.
		next.Phase, next.ActiveFrom, next.ExpiresAt = v1alpha1.OverrideWaiting, nil, nil
		next.Message = fmt.Sprintf("a second person must consent, who may unprotect the target: kubectl holdfast override approve %s", in.Name)
		return next, 0
	}
	if next.ActiveFrom == nil {
		from := in.CreationTimestamp.Time
		if in.Spec.ApprovedBy != "" {
			from = now // when that was is written nowhere
		}
		next.ActiveFrom = &metav1.Time{Time: from.Truncate(time.Second)}
		next.ExpiresAt = &metav1.Time{Time: next.ActiveFrom.Add(min(duration, rules.MaxDuration.Duration))}
	}
	left := next.ExpiresAt.Sub(now)
	if left <= 0 {
		next.Phase, next.Message = v1alpha1.OverrideExpired, "it was not used in time; ask for another one"
		return next, 0
	}
	next.Phase, next.Message = v1alpha1.OverrideActive, "the target may be deleted until then, by whoever may delete it"
	return next, left
}

func invalid(next v1alpha1.DeletionOverrideStatus, message string) v1alpha1.DeletionOverrideStatus {
	next.Phase, next.Message = v1alpha1.OverrideInvalid, message
	return next
}

func missing(in *v1alpha1.DeletionOverride, found Found) string {
	t := in.Spec.Target
	if found == FoundOther {
		return fmt.Sprintf("spec.target: %s has another uid than %s; ask again for the one that is there now", full(t), t.UID)
	}
	return "spec.target: there is no " + full(t)
}

// full names a target by all that finds it: any part can be the one that is wrong.
func full(t v1alpha1.OverrideTarget) string {
	if t.Namespace == "" {
		return fmt.Sprintf("%s %s %s without a namespace", t.APIVersion, t.Kind, t.Name)
	}
	return fmt.Sprintf("%s %s %s in namespace %s", t.APIVersion, t.Kind, t.Name, t.Namespace)
}
