// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// evictionAnswer is what whoever evicts gets.
type evictionAnswer struct {
	Allowed bool `json:"allowed"`
	// By is what decides: what refuses, or else the rule that lets it pass.
	By heldBy `json:"by"`
	// Code, Reason and Message of a refusal.
	Code    int32               `json:"code,omitempty"`
	Reason  metav1.StatusReason `json:"reason,omitempty"`
	Message string              `json:"message,omitempty"`
	// Warning that an eviction which passes carries.
	Warning string `json:"warning,omitempty"`
	// Drain is what kubectl drain makes of it.
	Drain drainAction `json:"drain"`
}

// drainAction is what kubectl drain makes of a pod.
type drainAction string

// What kubectl drain can make of a pod.
const (
	drainEvicts drainAction = "Evicts"
	// drainWaits is that it asks again every few seconds.
	drainWaits drainAction = "Waits"
	// drainFails is that it gives the pod up, and fails at its end.
	drainFails drainAction = "Fails"
	// drainGone is that it takes the pod as gone, while it runs.
	drainGone drainAction = "TakesAsGone"
	// drainSkips is that it does not touch the pod.
	drainSkips drainAction = "Skips"
)

func drainActionOf(allowed bool, code int32) drainAction {
	switch {
	case allowed:
		return drainEvicts
	case code == http.StatusTooManyRequests:
		return drainWaits
	case code == http.StatusNotFound:
		return drainGone
	}
	return drainFails
}

// answerOf puts together what Holdfast and then the budgets make of an eviction.
func answerOf(j judged, hasSay bool, b budgetAnswer) evictionAnswer {
	v := j.verdict
	out := evictionAnswer{Allowed: true, By: decider(v)}
	switch {
	case !hasSay || !j.inScope:
		out.By = heldBy{}
	case v.Allowed:
		out.Warning = v.Warning
	case v.Enforced():
		out.Allowed, out.Code, out.Reason, out.Message = false, v.Code, v.Reason, v.Message
	default:
		out.Warning = warningBelowEnforce(v)
	}
	if out.Allowed && b.Refuses {
		out.Allowed, out.By, out.Code, out.Message = false, b.by(), b.Code, b.Message
		if b.Code == http.StatusTooManyRequests {
			out.Reason = metav1.StatusReasonTooManyRequests
		}
	}
	out.Drain = drainActionOf(out.Allowed, out.Code)
	return out
}

// warningBelowEnforce is the text that a refusal becomes in mode Warn; in mode
// Audit only the audit log has it.
func warningBelowEnforce(v policy.Verdict) string {
	if v.Mode == configv1alpha1.ModeWarn {
		return v.Message
	}
	return ""
}
