// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Decide says what becomes of an eviction, or what it needs to know first. What
// protects a pod from deletion comes first, then the policies in their order,
// then the rules of the Drain Cleaner. A policy whose mode is weaker than that of
// the guard decides nothing: it tells what it would have said, and the next one
// decides.
func Decide(s Settings, f Facts) Verdict {
	v := decide(s, f)
	if v.Need != NeedNothing {
		return v
	}
	if f.Request.DryRun || !v.Enforced() {
		v.Patch, v.Events = nil, nil
	}
	return v
}

func decide(s Settings, f Facts) Verdict {
	if s.RefuseProtected && f.Meta.DeletionTimestamp == nil && !f.otherUID() {
		if v, ok := protected(s, f); ok {
			return v
		}
	}
	var trials []Verdict
	for _, p := range s.Policies {
		v, ok := p.decide(s, f)
		switch {
		case !ok || f.Skip.Has(p.Name):
		case v.Need == NeedNothing && v.Mode != s.Mode:
			v.Patch, v.Events = nil, nil
			trials = append(trials, v)
		default:
			v.Trials = trials
			return v
		}
	}
	v, ok := s.DrainCleaner.decide(s, f)
	if !ok {
		v = Verdict{Mode: s.Mode, Outcome: OutcomeNone, Allowed: true}
	}
	v.Trials = trials
	return v
}

func protected(s Settings, f Facts) (Verdict, bool) {
	if f.Protection == nil {
		return Verdict{Need: NeedProtection, Mode: s.Mode}, true
	}
	if *f.Protection == "" {
		return Verdict{}, false
	}
	return Verdict{
		Mode: s.Mode, Outcome: OutcomeProtected,
		Code: codeTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "The pod is protected from deletion: " + *f.Protection,
	}, true
}

// decide returns what the policy says, and false if it does not match. What can
// be told by the metadata is looked at first.
func (p *Policy) decide(s Settings, f Facts) (Verdict, bool) {
	if p.Mode == configv1alpha1.ModeOff || !p.matchesMeta(f.Request.Namespace, f.Meta) {
		return Verdict{}, false
	}
	matches, need, err := p.matchesRest(f)
	v := Verdict{Policy: p.Name, Mode: weaker(s.Mode, p.Mode), OnError: p.onError}
	switch {
	case need != NeedNothing:
		v.Need = need
		return v, true
	case err != nil && !leaving(f):
		return p.failedMatch(v, f, err), true
	case !matches:
		return Verdict{}, false
	case leaving(f), f.otherUID():
		return passing(v, f), true
	case p.draining && f.Node == nil:
		v.Need = NeedNode
		return v, true
	case p.draining && !f.Node.Draining:
		return p.notDraining(v, f), true
	}
	return p.verdictFor(v, f), true
}

// passing is the verdict on an eviction that has nothing to move: the pod is leaving, or
// another one is meant.
func passing(v Verdict, f Facts) Verdict {
	v.Outcome, v.Allowed = OutcomeOtherUID, true
	if leaving(f) {
		v.Outcome = OutcomeLeaving
	}
	return v
}

// matchesRest says whether what the metadata of the pod does not tell matches.
func (p *Policy) matchesRest(f Facts) (matches bool, need Need, err error) {
	if p.namespaceSelector != nil {
		if f.Namespace == nil {
			return false, NeedNamespace, nil
		}
		if !p.namespaceSelector.Matches(labels.Set(f.Namespace.Labels)) {
			return false, NeedNothing, nil
		}
	}
	if f.Pod == nil {
		return false, NeedPod, nil
	}
	if p.condition == nil {
		return true, NeedNothing, nil
	}
	if matches, err = p.condition.holds(f); err != nil {
		return false, NeedNothing, fmt.Errorf("spec.match.condition: %w", err)
	}
	return matches, NeedNothing, nil
}

// matchesMeta says whether the metadata of a pod is that of a pod that counts.
func (p *Policy) matchesMeta(namespace string, o *metav1.ObjectMeta) bool {
	return !exempt(o) && p.namespaces.Matches(namespace, nil) &&
		(p.pods == nil || p.pods.Matches(labels.Set(o.Labels))) &&
		all(p.labels, o.Labels) && all(p.annotations, o.Annotations) && p.owned(o)
}

func all(patterns []pattern, values map[string]string) bool {
	for _, p := range patterns {
		if !p.matches(values) {
			return false
		}
	}
	return true
}

func (p *Policy) owned(o *metav1.ObjectMeta) bool {
	if len(p.owners) == 0 {
		return true
	}
	c := metav1.GetControllerOfNoCopy(o)
	if c == nil {
		return false
	}
	for _, k := range p.owners {
		if isKind(c, k.Group, k.Kind) {
			return true
		}
	}
	return false
}

func isKind(o *metav1.OwnerReference, group, kind string) bool {
	return o.Kind == kind && groupOf(o.APIVersion) == group
}

// exempt says whether a pod is in no policy: one that its kubelet runs by itself, and
// one that comes back on the same node.
func exempt(o *metav1.ObjectMeta) bool {
	if _, mirror := o.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	c := metav1.GetControllerOfNoCopy(o)
	return c != nil && isKind(c, "apps", "DaemonSet")
}

// leaving says whether there is nothing left to move: the pod is terminating, or has
// finished. A policy lets it pass rather than leave it to the Drain Cleaner's rules,
// which would end the drain that the policy has wait.
func leaving(f Facts) bool {
	if f.Meta.DeletionTimestamp != nil {
		return true
	}
	return f.Pod != nil && (f.Pod.Status.Phase == corev1.PodSucceeded || f.Pod.Status.Phase == corev1.PodFailed)
}

// notDraining is the verdict on a pod whose node is not being drained. Whoever names
// its UID means this very pod, and is not told that it has gone.
func (p *Policy) notDraining(v Verdict, f Facts) Verdict {
	v.Outcome = OutcomeElsewhere
	switch {
	case p.elsewhere == v1alpha1.ElsewhereAllow:
		v.Allowed = true
		return v
	case f.Request.UID != "":
		v.Code, v.Reason = codeTooManyRequests, metav1.StatusReasonTooManyRequests
		v.Message = "EvictionPolicy " + p.Name + ": the node of the pod is not being drained, and the policy has pods moved from nodes that are"
		return v
	}
	v.Code, v.Reason = codeNotFound, metav1.StatusReasonNotFound
	v.Message = "EvictionPolicy " + p.Name + ": the node of the pod is not being drained; if the pod was moved there, there is nothing more to do"
	return v
}

// verdictFor is the verdict on a pod that matches.
func (p *Policy) verdictFor(v Verdict, f Facts) Verdict {
	held := p.verdict.Type != v1alpha1.VerdictTypeAllow
	if p.until != nil {
		holds, err := p.until.holds(f)
		if err != nil {
			v = p.failed(v, fmt.Errorf("spec.verdict.until: %w", err))
			if v.Allowed {
				return v
			}
			return p.act(v, f, true) // as if it did not hold yet: the operator is asked, and the deadline counts
		}
		held = !holds
	}
	if !held {
		v.Allowed, v.Outcome = true, OutcomeAllowed
		if p.until != nil {
			v.Outcome = OutcomeReleased // what was to be done has been done
			return v
		}
	} else {
		v.Outcome = OutcomeHeld
		v.Code, v.Reason = p.verdict.Code, metav1.StatusReason(p.verdict.Reason)
		if v.Reason == "" {
			v.Reason = reasonFor(v.Code)
		}
		v.Message = "EvictionPolicy " + p.Name + ": " + p.verdict.Message
	}
	return p.act(v, f, held)
}

// act adds to a verdict what is to be written to the pod and sent about it.
func (p *Policy) act(v Verdict, f Facts, held bool) Verdict {
	want := &Patch{Annotations: copied(p.action.Annotations), Labels: copied(p.action.Labels)}
	if held {
		v = p.hold(v, f, want)
	} else if p.action.Event != nil {
		v.Events = append(v.Events, Event{Reason: p.action.Event.Reason, Message: p.action.Event.Message})
	}
	v.Patch = missing(f.Meta, want)
	return v
}

func (p *Policy) failed(v Verdict, err error) Verdict {
	v.Outcome, v.Err = OutcomeError, fmt.Errorf("EvictionPolicy %s: %w", p.Name, err)
	return v.Failed(v.Err)
}

// failedMatch is the verdict where the condition of the match fails. The operator
// is not asked, because the pod may not be meant; the deadline counts.
func (p *Policy) failedMatch(v Verdict, f Facts, err error) Verdict {
	v = p.failed(v, err)
	if v.Allowed || f.otherUID() {
		return v
	}
	want := &Patch{Annotations: map[string]string{}, Labels: map[string]string{}}
	v = p.hold(v, f, want)
	v.Patch = missing(f.Meta, want)
	return v
}

// Failed is the verdict after something went wrong that the policy needs. What
// the configuration decides on is not for this.
func (v Verdict) Failed(err error) Verdict {
	v.Patch, v.Events, v.Outcome, v.Err = nil, nil, OutcomeError, err
	if v.OnError == Allow {
		v.Allowed, v.Code, v.Reason, v.Message = true, 0, "", ""
		v.Warning = "Holdfast could not judge this eviction: " + err.Error()
		return v
	}
	v.Allowed, v.Code, v.Reason = false, codeTooManyRequests, metav1.StatusReasonTooManyRequests
	v.Message = "Holdfast could not judge this eviction: " + err.Error()
	return v
}

// weaker of two modes.
func weaker(a, b configv1alpha1.Mode) configv1alpha1.Mode {
	for _, m := range configv1alpha1.Modes {
		if a == m || b == m {
			return m
		}
	}
	return configv1alpha1.ModeOff
}

// reasonFor is what Kubernetes calls a code.
func reasonFor(code int32) metav1.StatusReason {
	switch code {
	case codeBadRequest:
		return metav1.StatusReasonBadRequest
	case codeForbidden:
		return metav1.StatusReasonForbidden
	case codeNotFound:
		return metav1.StatusReasonNotFound
	case codeTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case codeUnavailable:
		return metav1.StatusReasonServiceUnavailable
	default:
		return metav1.StatusReasonInternalError
	}
}
