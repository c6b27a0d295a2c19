// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// explanation says whether an object can be deleted, and why.
type explanation struct {
	Object  objectRef `json:"object"`
	Allowed bool      `json:"allowed"`
	// Offline is set where no cluster was asked: user and rights mean nothing then.
	Offline bool `json:"offline,omitempty"`
	User    struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups,omitempty"`
	} `json:"user"`
	MayDelete access `json:"mayDelete"`
	// MayEdit and MayUnprotect together let the user take the labels away.
	MayEdit      access        `json:"mayEdit"`
	MayUnprotect access        `json:"mayUnprotect"`
	Policies     policiesState `json:"policies"`
	// Labels are the protecting labels that the object carries, and the marks that
	// Holdfast sets or will set in a moment.
	Labels []labelExplanation `json:"labels,omitempty"`
	// Protections are the ResourceDeletionProtections that select the object.
	Protections []protectionRef `json:"protections,omitempty"`
	// Overrides are those that were asked for the object.
	Overrides []overrideRef `json:"overrides,omitempty"`
	// Refusal is the answer to a dry run, where none of the labels is in the way.
	Refusal *refusal.Refusal `json:"refusal,omitempty"`
	// Below is what hangs below it, where that was looked at.
	Below *below `json:"below,omitempty"`
	// Notes are what else should be known, NextSteps what can be done.
	Notes     []string `json:"notes,omitempty"`
	NextSteps []string `json:"nextSteps,omitempty"`

	target target
	// nested is set for an object of a file that another one's tree shows.
	nested bool
}

type policiesState struct {
	// Known is false where the policies could not be read; then they are assumed
	// to be installed and enforced.
	Known  bool        `json:"known"`
	Anchor anchorState `json:"anchor"`
}

type labelExplanation struct {
	Label  string `json:"label"`
	Value  string `json:"value"`
	Effect effect `json:"effect"`
	// Refuses says whether this label is in the way of this user. The rest is
	// about the rule that has something against the delete, if any.
	Refuses bool                `json:"refuses"`
	Rule    policy.Rule         `json:"rule,omitempty"`
	Policy  string              `json:"policy,omitempty"`
	Mode    configv1alpha1.Mode `json:"mode,omitempty"`
	Message string              `json:"message,omitempty"`

	key policy.Key
}

// protectionRef is a ResourceDeletionProtection that selects an object.
type protectionRef struct {
	Name    string                  `json:"name"`
	Mode    v1alpha1.ProtectionMode `json:"mode"`
	Reason  string                  `json:"reason,omitempty"`
	Message string                  `json:"message,omitempty"`
}

// overrideRef is a DeletionOverride that was asked for an object.
type overrideRef struct {
	Name string `json:"name"`
	// InForce says whether the object carries its mark.
	InForce         bool                   `json:"inForce"`
	Phase           v1alpha1.OverridePhase `json:"phase,omitempty"`
	RequestedBy     string                 `json:"requestedBy"`
	ApprovedBy      string                 `json:"approvedBy,omitempty"`
	Reason          string                 `json:"reason"`
	IncludeContents bool                   `json:"includeContents,omitempty"`
	ExpiresAt       *metav1.Time           `json:"expiresAt,omitempty"`
}

// explainDelete is the verdict of the rules in force on deleting an object.
func explainDelete(f deleteFacts) explanation {
	x := explanation{
		Object:       refOf(f.target),
		Offline:      f.offline,
		MayDelete:    f.mayDelete,
		MayEdit:      f.mayEdit,
		MayUnprotect: f.mayUnprotect,
		Policies:     policiesState{Known: f.enforcement.Problem == "", Anchor: f.anchor},
		Overrides:    f.overridesOf(),
		Below:        f.below,
		target:       f.target,
	}
	x.User.Name, x.User.Groups = f.user.Username, f.user.Groups
	x.Allowed = f.mayDelete.Allowed
	for _, k := range allKeys() {
		if value, ok := carries(f.target.meta, k); ok {
			l := f.explainLabel(k, value)
			x.Allowed = x.Allowed && !l.Refuses
			x.Labels = append(x.Labels, l)
		}
	}
	for _, p := range f.selecting {
		x.Protections = append(x.Protections, protectionRef{Name: p.Name, Mode: p.Mode, Reason: p.Reason, Message: p.Message})
	}
	x.Notes = f.notes(x)
	x.NextSteps = f.nextSteps(x)
	return x
}

func (f deleteFacts) overridesOf() []overrideRef {
	var out []overrideRef
	for _, o := range f.overrides[string(f.target.meta.UID)] {
		out = append(out, overrideRef{
			Name:            o.Name,
			InForce:         v1alpha1.MarkOf(f.target.meta, v1alpha1.OverrideMark) == o.Name,
			Phase:           o.Status.Phase,
			RequestedBy:     o.Spec.RequestedBy,
			ApprovedBy:      o.Spec.ApprovedBy,
			Reason:          o.Spec.Reason,
			IncludeContents: o.Spec.IncludeContents,
			ExpiresAt:       o.Status.ExpiresAt,
		})
	}
	return out
}

// verdict is what the rules in force for one label have against the delete.
func (f deleteFacts) verdict(k policy.Key) policy.Verdict {
	inForce := f.enforcement.rules()
	i := slices.IndexFunc(inForce.Keys, func(other policy.Key) bool { return other.Label == k.Label })
	if i < 0 || policy.BeyondAdmission(f.target.kind.GroupResource()) {
		return nil
	}
	inForce.Keys = inForce.Keys[i : i+1]
	return inForce.Decide(policy.Request{
		Operation:    admissionv1.Delete,
		Resource:     f.target.kind.GroupResource(),
		Namespace:    f.target.meta.Namespace,
		OldObject:    f.target.meta,
		Used:         f.target.use != notInUse,
		User:         f.user.Username,
		Operates:     f.operates,
		MayUnprotect: f.mayUnprotect.Allowed,
		MayBypass:    f.mayBypass,
	})
}

func (f deleteFacts) explainLabel(k policy.Key, value string) labelExplanation {
	at := placeOf(f.target.kind.GroupResource(), f.target.meta, f.namespaceLabels)
	l := labelExplanation{
		Label:  k.Label,
		Value:  value,
		Effect: effectOf(f.enforcement, k, f.target.kind.GroupResource(), f.target.meta, at),
		key:    k,
	}
	verdict := f.verdict(k)
	if len(verdict) == 0 {
		return l
	}
	found := verdict[0]
	l.Rule, l.Policy, l.Message = found.Rule, found.Key.PolicyName(found.Rule), found.Message
	l.Mode = f.enforcement.mode(found.Rule, found.Key)
	l.Refuses = !found.WarnOnly && l.Effect.protects()
	return l
}
