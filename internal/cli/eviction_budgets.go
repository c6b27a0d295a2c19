// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The API server's own words about budgets.
const (
	budgetMessage  = "Cannot evict pod as it would violate the pod's disruption budget."
	severalMessage = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)

// budgetAnswer is what the API server makes of an eviction after all webhooks have
// let it pass.
type budgetAnswer struct {
	// Names of the PodDisruptionBudgets that select the pod.
	Names []string `json:"names,omitempty"`
	// Counted says that the budget is asked, and that the eviction takes one of the
	// disruptions that it allows. Finished, pending and terminating pods, and some
	// that are not ready, go in any case.
	Counted bool `json:"counted"`
	Refuses bool `json:"refuses"`
	// Code and Message of the refusal, and Detail about the budget.
	Code    int32  `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// by is what decides, for the budgets that select a pod.
func (b budgetAnswer) by() heldBy { return heldBy{Kind: byBudget, Name: strings.Join(b.Names, ", ")} }

// askBudgets does what the API server does. The budgets are those of the pod's
// namespace.
func askBudgets(pod *corev1.Pod, budgets []policyv1.PodDisruptionBudget) budgetAnswer {
	var out budgetAnswer
	var of *policyv1.PodDisruptionBudget
	for i := range budgets {
		s, err := metav1.LabelSelectorAsSelector(budgets[i].Spec.Selector)
		if err == nil && budgets[i].Namespace == pod.Namespace && s.Matches(labels.Set(pod.Labels)) {
			of = &budgets[i]
			out.Names = append(out.Names, of.Name)
		}
	}
	slices.Sort(out.Names)
	switch {
	case of == nil || beyondBudgets(pod):
	case len(out.Names) > 1:
		out.Refuses, out.Code, out.Message = true, http.StatusInternalServerError, severalMessage
	case !podReady(pod) && letsUnready(of):
	default:
		out.Counted = true
		out.ask(of)
	}
	return out
}

// ask takes a disruption from the budget, if it allows one.
func (b *budgetAnswer) ask(of *policyv1.PodDisruptionBudget) {
	switch s := of.Status; {
	case s.ObservedGeneration < of.Generation:
		b.Detail = fmt.Sprintf("the budget %s is still being worked on", of.Name)
	case s.DisruptionsAllowed < 0:
		b.Refuses, b.Code = true, http.StatusForbidden
		b.Message = fmt.Sprintf("poddisruptionbudgets.policy %q is forbidden: pdb disruptions allowed is negative", of.Name)
		return
	case s.DisruptionsAllowed > 0:
		return
	default:
		b.Detail = fmt.Sprintf("the budget %s needs %d healthy pods and has %d", of.Name, s.DesiredHealthy, s.CurrentHealthy)
	}
	b.Refuses, b.Code, b.Message = true, http.StatusTooManyRequests, budgetMessage
}

// beyondBudgets says whether the API server evicts a pod whatever its budget is.
func beyondBudgets(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || finished(pod) || pod.Status.Phase == corev1.PodPending
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// letsUnready says whether a budget lets a pod go that is not ready.
func letsUnready(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}
