// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// evictExplanation says what an eviction gets, and why.
type evictExplanation struct {
	Object objectRef `json:"object"`
	Node   string    `json:"node,omitempty"`
	// NodeDraining says whether the node is being drained.
	NodeDraining bool           `json:"nodeDraining"`
	Answer       evictionAnswer `json:"answer"`
	User         struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups,omitempty"`
	} `json:"user"`
	MayEvict access           `json:"mayEvict"`
	Guard    guardState       `json:"guard"`
	Scope    evictionScope    `json:"scope"`
	Decision evictionDecision `json:"decision"`
	// Trials match as well, and only tell because of their mode. Later match as well,
	// and do not decide because they come later.
	Trials []heldBy `json:"trials,omitempty"`
	Later  []heldBy `json:"later,omitempty"`
	// Writes is what an eviction would write to the pod.
	Writes *evictionWrites `json:"writes,omitempty"`
	// Waiting is since when the pod waits.
	Waiting *waitingPod `json:"waiting,omitempty"`
	// Bound is what ends the hold of the policy that decides.
	Bound   string       `json:"bound,omitempty"`
	Budgets budgetAnswer `json:"budgets"`
	// Protection is what the deletion guard would say to deleting the pod, and
	// ProtectedPods what the configuration makes of that: Allow or Refuse.
	Protection    string                          `json:"protection,omitempty"`
	ProtectedPods configv1alpha1.ProtectedPodRule `json:"protectedPods"`
	// Notes are what else should be known, NextSteps what can be done.
	Notes     []string `json:"notes,omitempty"`
	NextSteps []string `json:"nextSteps,omitempty"`
}

// evictionScope says whether evictions in a namespace are Holdfast's.
type evictionScope struct {
	InScope bool `json:"inScope"`
	// Global and Eviction are the scope of all features and that of evictions, for
	// people; the second is narrower than the first.
	Global   string `json:"global"`
	Eviction string `json:"eviction"`
	// Filter is where names are held against the scope.
	Filter configv1alpha1.FilterPlace `json:"filter"`
}

// evictionDecision is Holdfast's verdict, before the mode and the budgets.
type evictionDecision struct {
	By      heldBy              `json:"by"`
	Outcome policy.Outcome      `json:"outcome"`
	Mode    configv1alpha1.Mode `json:"mode"`
	Allowed bool                `json:"allowed"`
	Code    int32               `json:"code,omitempty"`
	Reason  metav1.StatusReason `json:"reason,omitempty"`
	Message string              `json:"message,omitempty"`
}

type evictionWrites struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// explainEvict puts together what is known of the eviction of a pod.
func explainEvict(f evictFacts, now time.Time) evictExplanation {
	j := f.judge(policy.Facts{
		Request: policy.Request{Namespace: f.pod.Namespace, Name: f.pod.Name, User: f.user.Username, Groups: f.user.Groups},
		Pod:     f.pod, Node: f.node, Namespace: f.namespace, Now: now,
	})
	x := evictExplanation{
		Object:       refOf(newTarget(podsKind, &metav1.PartialObjectMetadata{ObjectMeta: f.pod.ObjectMeta})),
		Node:         f.pod.Spec.NodeName,
		NodeDraining: f.node.Draining,
		MayEvict:     f.mayEvict,
		Guard:        f.guard,
		Scope: evictionScope{
			InScope: j.inScope, Global: f.global.String(), Eviction: f.scope.String(), Filter: f.config.Eviction.Filter,
		},
		Decision: evictionDecision{
			By: decider(j.verdict), Outcome: j.verdict.Outcome, Mode: j.verdict.Mode, Allowed: j.verdict.Allowed,
			Code: j.verdict.Code, Reason: j.verdict.Reason, Message: j.verdict.Message,
		},
		Trials:        j.trials,
		Later:         j.later,
		Waiting:       waitingOf(f.pod, f.settings, now),
		Budgets:       askBudgets(f.pod, f.budgets),
		Protection:    j.protection,
		ProtectedPods: f.config.Eviction.ProtectedPods,
	}
	x.User.Name, x.User.Groups = f.user.Username, f.user.Groups
	x.Answer = answerOf(j, f.guard.hasSay(), x.Budgets)
	if p := j.verdict.Patch; p != nil && f.guard.hasSay() {
		x.Writes = &evictionWrites{Annotations: p.Annotations, Labels: p.Labels}
	}
	if p := f.settings.Policy(j.verdict.Policy); p != nil && !j.verdict.Allowed {
		x.Bound = bounds(p.Bound())
	}
	if !f.mayEvict.Allowed {
		x.Answer = evictionAnswer{
			By: heldBy{Kind: byRBAC}, Code: codeForbidden, Reason: metav1.StatusReasonForbidden, Drain: drainFails,
			Message: fmt.Sprintf("pods %q is forbidden", f.pod.Name),
		}
		x.Writes = nil // nobody asks Holdfast then
	}
	x.Notes, x.NextSteps = f.evictNotes(x), evictSteps(x)
	return x
}

const codeForbidden = 403

// evictNotes say what else should be known.
func (f evictFacts) evictNotes(x evictExplanation) []string {
	notes := slices.Clone(f.guard.Problems)
	add := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	around := x.Protection != "" && (x.ProtectedPods != configv1alpha1.ProtectedPodsRefused || !x.Scope.InScope || !f.guard.hasSay())
	add(around, "the pod is protected from deletion, and an eviction goes around that: with eviction.protectedPods: Refuse in the configuration, and in scope, it would be refused")
	add(f.pod.DeletionTimestamp != nil, "it is already being deleted; no EvictionPolicy holds it")
	add(finished(f.pod), "it has finished, with phase %s; no EvictionPolicy holds it", f.pod.Status.Phase)
	add(x.Decision.Outcome == policy.OutcomeElsewhere,
		"its node is not being drained; during a drain the answer may be another: kubectl holdfast why drain %s", orNone(x.Node))
	b := x.Budgets
	add(len(b.Names) > 0 && !b.Counted && !b.Refuses,
		"its disruption budget does not count now, because the pod has finished, is pending, terminating or not ready")
	add(b.Refuses && x.Answer.By.Kind != byBudget && x.Answer.By.Kind != byRBAC,
		"without that, %s would refuse: %s", b.by(), b.Message)
	return slices.Concat(notes, f.evictionWorld.unknown, f.unknown)
}

// evictSteps say what can be done.
func evictSteps(x evictExplanation) []string {
	ns := " -n " + x.Object.Namespace
	switch by := x.Answer.By; {
	case x.Answer.Allowed:
		return nil
	case by.Kind == byRBAC:
		return []string{"ask for the RBAC verb create on pods/eviction in namespace " + x.Object.Namespace}
	case by.Kind == byDrainCleaner:
		return []string{
			"wait until the Strimzi Cluster Operator has rolled the pod: kubectl get pod " + x.Object.Name + ns + " -w",
			"then drain the node again, because kubectl drain gives up at code 500",
		}
	case by.Kind == byPolicy:
		return []string{
			"wait until its operator has moved it: kubectl holdfast drains",
			"what the policy waits for: kubectl get evictionpolicy " + by.Name + " -o yaml",
		}
	case by.Kind == byProtection:
		return []string{"decide about the protection first: kubectl holdfast why delete pod/" + x.Object.Name + ns}
	case len(x.Budgets.Names) > 1:
		return []string{"leave one PodDisruptionBudget that selects the pod, and narrow the others: kubectl get pdb" + ns}
	case x.Answer.Code == codeForbidden:
		return []string{"look at the budget: kubectl get pdb " + by.Name + ns + " -o yaml"}
	}
	return []string{"wait until the budget allows it, or see why it does not: kubectl describe pdb " + x.Answer.By.Name + ns}
}

// overdueText says what becomes of evictions after a deadline.
func overdueText(then v1alpha1.OverdueVerdict) string {
	if then == v1alpha1.OverdueDeny {
		return "then it is still refused, and an Event says so"
	}
	return "then the eviction passes"
}
