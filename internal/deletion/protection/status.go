// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
)

// compute makes the next status. While not everything has been seen, what was
// counted before stands.
func compute(status *v1alpha1.ResourceDeletionProtectionStatus, generation int64, r marker.Report, mode configv1alpha1.Mode, now time.Time) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProtected,
		Message: "all that is selected is protected", ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
	switch {
	case len(r.Unenforceable) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonUnenforceable, unenforceable(r.Unenforceable)
	case !r.Complete:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonCounting, "not everything that is selected has been looked at yet"
	case mode != configv1alpha1.ModeEnforce:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotEnforced
		c.Message = fmt.Sprintf("the deletion guard is in mode %s, which refuses nothing", mode)
	}
	before := meta.FindStatusCondition(status.Conditions, c.Type)
	if r.Complete || len(r.Unenforceable) > 0 || before == nil || status.ObservedGeneration != generation {
		status.ObservedGeneration, status.Matches, status.Unenforceable = generation, r.Matches, r.Unenforceable
		meta.SetStatusCondition(&status.Conditions, c)
	}
}

func unenforceable(list []v1alpha1.Unenforceable) string {
	parts := make([]string, 0, len(list))
	for _, u := range list {
		parts = append(parts, schema.GroupKind{Group: u.Group, Kind: u.Kind}.String()+" ("+string(u.Reason)+")")
	}
	return "not protected: " + strings.Join(parts, ", ")
}

func invalid(status *v1alpha1.ResourceDeletionProtectionStatus, generation int64, err error, now time.Time) {
	status.ObservedGeneration, status.Matches, status.Unenforceable = generation, v1alpha1.Matches{}, nil
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalid,
		Message: err.Error(), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}
