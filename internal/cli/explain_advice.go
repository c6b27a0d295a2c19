// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// notes say what else should be known.
func (f deleteFacts) notes(x explanation) []string {
	notes := f.enforcementNotes(len(x.Labels) > 0)
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	o := f.target.meta
	if policy.BeyondAdmission(f.target.kind.GroupResource()) {
		add("the API server asks no policy about objects of this kind: a label on one protects nothing; guard them by RBAC")
	}
	if o.DeletionTimestamp != nil {
		add("it is already being deleted, since %s; Holdfast lets that finish", o.DeletionTimestamp.UTC().Format(timeFormat))
	}
	for _, l := range x.Labels {
		if l.Effect == effectWhileUsed {
			add("%s protects it for as long as it is in use, and it is %s", l.Label, f.useText())
		}
		if f.mayBypass[l.key.Mark] {
			add("you hold the RBAC verb %q on the protection that %s names, and may delete it all the same", v1alpha1.BypassVerb, l.Label)
		}
	}
	if f.below != nil {
		notes = append(notes, f.belowNotes(x.Allowed)...)
	}
	return append(notes, f.unknown...)
}

// enforcementNotes are about what the API server makes of the rules.
func (f deleteFacts) enforcementNotes(labelled bool) []string {
	e := f.enforcement
	switch {
	case f.offline:
		return nil // said once, not for each object
	case f.anchor == anchorMissing:
		return []string{fmt.Sprintf("Holdfast is stopped: the ClusterRole %s is not there, and its policies go with it; nothing is refused", v1alpha1.AnchorName)}
	case e.Problem != "":
		return []string{fmt.Sprintf("the policies could not be read (%s): Holdfast is assumed to be installed and to enforce", e.Problem)}
	case len(e.rules().Keys) == 0 && f.anchor == anchorPresent:
		return []string{"the deletion mode of Holdfast is Off: nothing is refused, and nothing is protected"}
	case len(e.rules().Keys) == 0:
		return []string{"no policy of Holdfast is installed that refuses a delete: nothing is refused, and nothing is protected"}
	case e.conditional() && labelled:
		return []string{"Holdfast's scope has patterns, and you may not get the Holdfast object, which names them; the namespace is assumed to be in scope"}
	}
	return nil
}

func (f deleteFacts) useText() string {
	if f.target.use == useUnknown {
		return "assumed to be"
	}
	return string(f.target.use)
}

// belowNotes warn of what hangs below and would not simply go.
func (f deleteFacts) belowNotes(allowed bool) []string {
	b := f.below
	refused, lost := countFate(b.Items, fateRefused), countFate(b.Items, fateLost)
	var notes []string
	switch {
	case lost == 0:
	case b.Relation == relationInstances:
		notes = append(notes, fmt.Sprintf("when a definition goes, the API server removes its instances and asks nobody: %d that are protected would be lost", lost))
	default:
		notes = append(notes, fmt.Sprintf("when a claim goes, its volume goes with its data, unless the volume has the reclaim policy Retain: %d that are protected would be lost", lost))
	}
	if unused := countUnused(b.Items); unused > 0 && !allowed {
		notes = append(notes, fmt.Sprintf("what is protected while it is in use counts for what is above it, in use or not: %d of these are not in use, and each can be deleted by itself first", unused))
	}
	switch {
	case refused == 0 || !allowed:
	case b.Relation == relationContents:
		notes = append(notes, fmt.Sprintf("%d protected objects in the namespace would stay and keep it terminating", refused))
	default:
		notes = append(notes, fmt.Sprintf("%d objects below it would stay, without their owner", refused))
	}
	return notes
}

func countFate(nodes []node, of fate) int {
	count := 0
	for _, n := range nodes {
		if n.Fate == of {
			count++
		}
		count += countFate(n.Below, of)
	}
	return count
}

// countUnused are the objects that are protected only while they are in use, and are not.
func countUnused(nodes []node) int {
	count := 0
	for _, n := range nodes {
		if n.Protected && n.Fate == fateDeleted {
			count++
		}
		count += countUnused(n.Below)
	}
	return count
}

// nextSteps say what can be done.
func (f deleteFacts) nextSteps(x explanation) []string {
	var steps []string
	if !f.mayDelete.Allowed {
		steps = append(steps, fmt.Sprintf("ask for the RBAC verb delete on %s %s", f.target.kind.GroupResource(), rightIn(f.mayDelete.Namespace)))
	}
	var labels, marks []policy.Key
	for _, l := range x.Labels {
		switch {
		case !l.Refuses:
		case l.key.Mark == "":
			labels = append(labels, l.key)
		default:
			marks = append(marks, l.key)
		}
	}
	if len(labels) > 0 {
		steps = append(steps, f.unprotectStep(labels))
	}
	for _, k := range marks {
		steps = append(steps, f.markSteps(k)...)
	}
	return steps
}

func (f deleteFacts) unprotectStep(labels []policy.Key) string {
	command := fmt.Sprintf("kubectl holdfast unprotect %s%s", f.target, f.target.namespaceFlag())
	switch {
	case f.offline:
		return "whoever may unprotect it can run: " + command
	case f.needsRight(labels) && !f.mayUnprotect.Allowed:
		return fmt.Sprintf("ask somebody who holds %s, %s, or a cluster administrator, to run: %s",
			unprotectRight, rightIn(f.mayUnprotect.Namespace), command)
	case !f.mayEdit.Allowed:
		return "ask somebody who may edit it to run: " + command
	default:
		return "if it really should go, run: " + command
	}
}

// markSteps say what can be done about a mark, which nobody takes away.
func (f deleteFacts) markSteps(k policy.Key) []string {
	if k.Mark != policy.MarkContents {
		return []string{
			"to let this one object go for a while, run: " + askCommand(f.target, false),
			"to protect it no longer, change what the protection selects: " + lookAt(f.target.meta.Labels[k.Label]),
		}
	}
	first := "decide about what is protected below it first"
	switch {
	case f.target.kind.GroupResource() == policy.Claims:
		return []string{first, "or keep the data of its volume, by the reclaim policy Retain of the PersistentVolume"}
	case relationOf(f.target.kind.GroupResource()) == relationDependents:
		return []string{
			first,
			fmt.Sprintf("or keep what it owns: kubectl delete %s%s --cascade=orphan", f.target, f.target.namespaceFlag()),
		}
	default:
		return []string{
			"decide about what is protected in it first",
			"or let all of it go with it, for a while, run: " + askCommand(f.target, true),
		}
	}
}

// needsRight says whether taking the labels away needs the verb unprotect. On an
// open label whoever may edit the object may.
func (f deleteFacts) needsRight(labels []policy.Key) bool {
	return slices.ContainsFunc(f.enforcement.rules().Keys, func(k policy.Key) bool {
		return k.Strict && slices.ContainsFunc(labels, func(l policy.Key) bool { return l.Label == k.Label })
	})
}
