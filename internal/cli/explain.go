// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// explanationList is the structured output of why delete.
type explanationList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []explanation `json:"items"`
}

// explanation says whether an object can be deleted, and why.
type explanation struct {
	Object  objectRef `json:"object"`
	Allowed bool      `json:"allowed"`
	User    struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups,omitempty"`
	} `json:"user"`
	MayDelete access `json:"mayDelete"`
	// MayEdit and MayUnprotect together let the user take the labels away.
	MayEdit      access        `json:"mayEdit"`
	MayUnprotect access        `json:"mayUnprotect"`
	Policies     policiesState `json:"policies"`
	// Labels are the protecting labels that the object carries.
	Labels []labelExplanation `json:"labels,omitempty"`
	// Notes are what else should be known, NextSteps what can be done.
	Notes     []string `json:"notes,omitempty"`
	NextSteps []string `json:"nextSteps,omitempty"`

	target target
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
}

// explainDelete is the verdict of the rules in force on deleting an object.
func explainDelete(f deleteFacts) explanation {
	x := explanation{
		Object:       refOf(f.target),
		MayDelete:    f.mayDelete,
		MayEdit:      f.mayEdit,
		MayUnprotect: f.mayUnprotect,
		Policies:     policiesState{Known: f.enforcement.Problem == "", Anchor: f.anchor},
		target:       f.target,
	}
	x.User.Name, x.User.Groups = f.user.Username, f.user.Groups
	verdict := f.enforcement.rules().Decide(policy.Request{
		Operation:    admissionv1.Delete,
		Resource:     f.target.kind.GroupResource(),
		Namespace:    f.target.meta.Namespace,
		OldObject:    f.target.meta,
		User:         f.user.Username,
		MayUnprotect: f.mayUnprotect.Allowed,
	})
	x.Allowed = f.mayDelete.Allowed
	for _, k := range allKeys() {
		if value, ok := f.target.meta.Labels[k.Label]; ok {
			l := f.explainLabel(k, value, verdict)
			x.Allowed = x.Allowed && !l.Refuses
			x.Labels = append(x.Labels, l)
		}
	}
	x.Notes = f.notes(x.Labels)
	x.NextSteps = f.nextSteps(x)
	return x
}

func (f deleteFacts) explainLabel(k policy.Key, value string, verdict policy.Verdict) labelExplanation {
	at := placeOf(f.target.kind.GroupResource(), f.target.meta, f.namespaceLabels)
	l := labelExplanation{
		Label:  k.Label,
		Value:  value,
		Effect: effectOf(f.enforcement, k, f.target.kind.GroupResource(), f.target.meta, at),
	}
	i := slices.IndexFunc(verdict, func(found policy.Finding) bool { return found.Key.Label == k.Label })
	if i < 0 {
		return l
	}
	found := verdict[i]
	l.Rule, l.Policy, l.Message = found.Rule, found.Key.PolicyName(found.Rule), found.Message
	l.Mode = f.enforcement.mode(found.Rule, found.Key)
	l.Refuses = !found.WarnOnly && l.Effect.protects()
	return l
}

func (f deleteFacts) notes(labels []labelExplanation) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	e := f.enforcement
	switch {
	case f.anchor == anchorMissing:
		add("Holdfast is stopped: the ClusterRole %s is not there, and its policies go with it", anchorName)
	case e.Problem != "":
		add("the policies could not be read (%s): Holdfast is assumed to be installed and to enforce", e.Problem)
	case len(e.rules().Keys) == 0:
		add("no policy of Holdfast is installed that refuses a delete: nothing is protected")
	case e.conditional() && len(labels) > 0:
		add("Holdfast's scope has patterns, which only the API server evaluates; the namespace is assumed to be in scope")
	}
	if f.target.meta.DeletionTimestamp != nil {
		add("it is already being deleted, since %s; Holdfast lets that finish", f.target.meta.DeletionTimestamp.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return append(notes, f.contentNotes()...)
}

// contentNotes warn of a delete that would begin and not end.
func (f deleteFacts) contentNotes() []string {
	var notes, stay []string
	for _, t := range f.contents {
		at := placeOf(t.kind.GroupResource(), t.meta, f.target.meta.Labels)
		for _, k := range f.enforcement.rules().Keys {
			e := effectOf(f.enforcement, k, t.kind.GroupResource(), t.meta, at)
			if e.protects() && e != effectControllers {
				stay = append(stay, t.String())
				break
			}
		}
	}
	if len(stay) > 0 {
		slices.Sort(stay)
		const shown = 5
		list := strings.Join(stay[:min(shown, len(stay))], ", ")
		if len(stay) > shown {
			list += fmt.Sprintf(" and %d more", len(stay)-shown)
		}
		notes = append(notes, fmt.Sprintf("protected objects in the namespace would stay and keep it terminating: %s", list))
	}
	for _, err := range f.contentProblems {
		notes = append(notes, "what is protected inside is not fully known: "+err.Error())
	}
	return notes
}

func (f deleteFacts) nextSteps(x explanation) []string {
	var steps []string
	if !f.mayDelete.Allowed {
		steps = append(steps, fmt.Sprintf("ask for the RBAC verb delete on %s %s", f.target.kind.GroupResource(), rightIn(f.mayDelete.Namespace)))
	}
	refusing := slices.DeleteFunc(slices.Clone(x.Labels), func(l labelExplanation) bool { return !l.Refuses })
	if len(refusing) == 0 {
		return steps
	}
	command := fmt.Sprintf("kubectl holdfast unprotect %s%s", f.target, f.target.namespaceFlag())
	switch {
	case f.needsRight(refusing) && !f.mayUnprotect.Allowed:
		steps = append(steps, fmt.Sprintf("ask somebody who holds %s, %s, or a cluster administrator, to run: %s",
			unprotectRight, rightIn(f.mayUnprotect.Namespace), command))
	case !f.mayEdit.Allowed:
		steps = append(steps, "ask somebody who may edit it to run: "+command)
	default:
		steps = append(steps, "if it really should go, run: "+command)
	}
	return steps
}

// needsRight says whether taking the labels away needs the verb unprotect. On an
// open label whoever may edit the object may.
func (f deleteFacts) needsRight(refusing []labelExplanation) bool {
	return slices.ContainsFunc(f.enforcement.rules().Keys, func(k policy.Key) bool {
		return k.Strict && slices.ContainsFunc(refusing, func(l labelExplanation) bool { return l.Label == k.Label })
	})
}
