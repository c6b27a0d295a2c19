// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// drainForecast is what the drain of a node would do.
type drainForecast struct {
	metav1.TypeMeta `json:",inline"`
	Node            string `json:"node"`
	// Draining says whether the node is being drained already.
	Draining bool         `json:"draining"`
	Guard    guardState   `json:"guard"`
	Items    []drainRow   `json:"items"`
	Summary  drainSummary `json:"summary"`
	Notes    []string     `json:"notes,omitempty"`
}

// drainRow is what it would do to one pod.
type drainRow struct {
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	UID       string      `json:"uid"`
	Drain     drainAction `json:"drain"`
	// By is what holds the pod, and Until says in words what ends that.
	By      heldBy              `json:"by"`
	Until   string              `json:"until,omitempty"`
	Code    int32               `json:"code,omitempty"`
	Reason  metav1.StatusReason `json:"reason,omitempty"`
	Message string              `json:"message,omitempty"`
	Warning string              `json:"warning,omitempty"`
	Waiting *waitingPod         `json:"waiting,omitempty"`
	// Skipped says why kubectl drain does not touch the pod.
	Skipped string `json:"skipped,omitempty"`
	// NeedsForce is that kubectl drain does not begin without --force, because no
	// controller manages the pod.
	NeedsForce bool `json:"needsForce,omitempty"`
}

// drainSummary counts the rows.
type drainSummary struct {
	Pods        int `json:"pods"`
	Evicts      int `json:"evicts"`
	Waits       int `json:"waits"`
	Fails       int `json:"fails"`
	TakesAsGone int `json:"takesAsGone"`
	Skips       int `json:"skips"`
	NeedForce   int `json:"needForce"`
}

// forecast judges each pod of the node as if it were being drained.
func (f drainFacts) forecast(now time.Time) drainForecast {
	out := drainForecast{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "DrainForecast"},
		Node:     f.node, Draining: f.draining, Guard: f.guard, Items: []drainRow{},
		Notes: slices.Concat(f.guard.Problems, f.evictionWorld.unknown, f.unknown),
	}
	slices.SortFunc(f.pods, func(a, b corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	left := map[heldBy]int32{}
	for i := range f.pods {
		row := f.row(&f.pods[i], left, now)
		out.Items = append(out.Items, row)
		out.Summary.count(row)
	}
	return out
}

func (s *drainSummary) count(r drainRow) {
	s.Pods++
	switch r.Drain {
	case drainEvicts:
		s.Evicts++
	case drainWaits:
		s.Waits++
	case drainFails:
		s.Fails++
	case drainGone:
		s.TakesAsGone++
	case drainSkips:
		s.Skips++
	}
	if r.NeedsForce {
		s.NeedForce++
	}
}

// row judges one pod. What is left of the budgets goes down with each pod that
// goes.
func (f drainFacts) row(pod *corev1.Pod, left map[heldBy]int32, now time.Time) drainRow {
	r := drainRow{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	if r.Skipped = skipped(pod); r.Skipped != "" {
		r.Drain = drainSkips
		return r
	}
	r.NeedsForce = metav1.GetControllerOfNoCopy(pod) == nil && !finished(pod)
	j := f.judge(policy.Facts{
		Request: policy.Request{Namespace: pod.Namespace, Name: pod.Name, User: f.user.Username, Groups: f.user.Groups},
		Pod:     pod, Node: &policy.Node{Draining: true}, Namespace: f.namespaces[pod.Namespace], Now: now,
	})
	b := askBudgets(pod, f.budgets[pod.Namespace])
	a := answerOf(j, f.guard.hasSay(), b)
	if a.Allowed && b.Counted {
		a = f.takeFrom(left, pod.Namespace, b, a)
	}
	r.Drain, r.Code, r.Reason, r.Message, r.Warning = a.Drain, a.Code, a.Reason, a.Message, a.Warning
	if !a.Allowed {
		r.By = a.By
		if w := waitingOf(pod, f.settings, now); w != nil && w.By == a.By {
			r.Waiting = w
		}
		r.Until = f.until(r, now)
	}
	return r
}

// takeFrom takes a disruption from the budget of a pod, if it has one left.
func (f drainFacts) takeFrom(left map[heldBy]int32, namespace string, b budgetAnswer, a evictionAnswer) evictionAnswer {
	key := heldBy{Kind: namespace, Name: b.Names[0]}
	if _, ok := left[key]; !ok {
		for i := range f.budgets[namespace] {
			if f.budgets[namespace][i].Name == b.Names[0] {
				left[key] = f.budgets[namespace][i].Status.DisruptionsAllowed
			}
		}
	}
	left[key]--
	if left[key] >= 0 {
		return a
	}
	return evictionAnswer{
		By: b.by(), Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: budgetMessage, Drain: drainWaits,
	}
}

// until says what ends the hold on a pod.
func (f drainFacts) until(r drainRow, now time.Time) string {
	switch r.By.Kind {
	case byPolicy:
		p := f.settings.Policy(r.By.Name)
		switch {
		case r.Waiting != nil && r.Waiting.Deadline != nil && !r.Waiting.Lapsed:
			return r.Waiting.left(now)
		case p != nil:
			return bounds(p.Bound())
		}
	case byDrainCleaner:
		return "its operator moves it"
	case byProtection:
		return "it is protected no longer"
	case byBudget:
		if strings.Contains(r.By.Name, ", ") {
			return "one budget selects it"
		}
		return "the budget allows it"
	}
	return ""
}

// skipped says why kubectl drain, with --ignore-daemonsets, does not touch a pod;
// "" if it does.
func skipped(pod *corev1.Pod) string {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return "mirror pod"
	}
	if c := metav1.GetControllerOfNoCopy(pod); c != nil && c.Kind == "DaemonSet" && c.APIVersion == "apps/v1" && !finished(pod) {
		return "DaemonSet " + c.Name
	}
	return ""
}
