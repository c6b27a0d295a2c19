// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// Decide says what is done about an account. It is the same for the same facts,
// whatever the order of the wants, and what it says is Nothing once it is done.
func Decide(f Facts) Verdict {
	f.Wants = sorted(f)
	winner, rivals := claims(f)
	if winner == nil {
		return unwanted(f)
	}
	v := wanted(f, *winner)
	v.Report.Claimant, v.Report.Rivals = claimant(*winner), rivals
	return v
}

func nothing(why string) Verdict {
	return Verdict{Action: Action{Do: Nothing}, Report: Report{Message: why}}
}

func refused(p Problem, format string, args ...any) Verdict {
	out := nothing(fmt.Sprintf(format, args...))
	out.Report.Problem = p
	return out
}

// wanted decides about an account that an object has.
func wanted(f Facts, w mapping.Want) Verdict {
	switch {
	case w.Err != nil:
		return refused(ProblemError, "%v", w.Err)
	case f.Live == nil && f.Ending:
		return nothing("its namespace is being deleted")
	case f.Live == nil:
		return created(f, w)
	}
	if v := untouched(f, w); v != nil {
		return *v
	}
	s, err := see(f, w)
	if err != nil {
		return refused(ProblemUnreadable, "%v", err)
	}
	out := s.applied
	if f.Existing == configv1alpha1.ExistingReplace {
		out = s.replaced
	}
	v := out()
	v.Report.Adopted = !f.owns(w)
	if f.Unsure && v.Report.Adopted && s.takesBack(v.Report.Changes) {
		v.Action = Action{Do: Nothing}
		v.Report.Message = "it is left as it is until it is known whether somebody else has it: not all can be asked now"
	}
	return v
}

// untouched decides about an account that is there and not to be written; nil if it may
// be.
func untouched(f Facts, w mapping.Want) *Verdict {
	var v Verdict
	switch {
	case f.Live.DeletionTimestamp != nil:
		v = nothing("it is being deleted, and made again after that")
	case f.Live.Labels[hncv1alpha2.LabelInheritedFrom] != "":
		v = refused(ProblemCopy, "it is a copy, which the hierarchy keeps as it is in the namespace %s",
			f.Live.Labels[hncv1alpha2.LabelInheritedFrom])
	case len(f.Live.OwnerReferences) > 0 && !f.owns(w):
		other := f.Live.OwnerReferences[0]
		v = refused(ProblemOwned, "it belongs to the %s %s", other.Kind, other.Name)
		if gone := notNow(f); gone != nil {
			v.Action = gone.Action
		}
	case !f.Patching:
		v = nothing("accounts that are there are left as they are: the feature gate ServiceAccountPatching is off")
	default:
		return nil
	}
	return &v
}

// takesBack says whether some changes undo what Holdfast has set, for somebody else
// perhaps.
func (s *sight) takesBack(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return (c.Kind == Removed || c.Kind == Changed) && s.ours[c.Key] })
}

// unwanted decides about an account that no object has now.
func unwanted(f Facts) Verdict {
	if f.Live == nil || f.Live.DeletionTimestamp != nil {
		return nothing("")
	}
	if v := notNow(f); v != nil {
		return *v
	}
	has := func(is func(mapping.Source) bool) bool {
		return slices.ContainsFunc(f.Wants, func(w mapping.Want) bool { return is(w.Source) })
	}
	owned := len(f.Live.OwnerReferences) > 0
	switch {
	case f.Orphaned || has(func(s mapping.Source) bool { return s.Orphaning }):
		return letGo(f)
	case !f.Patching || has(func(s mapping.Source) bool { return s.Deleting }) || owned && !f.Abandoned:
		return nothing("") // until the object has gone, or for the garbage collector
	case owned:
		return released(f, mapping.Source{}, "no template says anything of it any more: what Holdfast has set on it goes, and it goes itself with its owner")
	default:
		return released(f, mapping.Source{}, "no object has it any more, and it was there before: what Holdfast has set on it goes")
	}
}

// notNow decides about an account of an object that does not have it now; nil if the
// account is of no such object.
func notNow(f Facts) *Verdict {
	for _, w := range f.Wants {
		if w.Enabled || w.Err != nil || w.Source.Deleting || !f.owns(w) {
			continue
		}
		if f.operated() {
			v := nothing(fmt.Sprintf("the %s %s does not have it now, and the operator that has written it runs", w.Source.Kind, w.Source.Name))
			v.Report.Claimant = claimant(w)
			return &v
		}
		v := nothing(fmt.Sprintf("the %s %s does not have it now, and it is not Holdfast's to delete", w.Source.Kind, w.Source.Name))
		switch {
		case wantedBySame(f, w):
			return nil
		case w.OwnerReference != nil && len(f.Live.OwnerReferences) == 1:
			v.Action = Action{Do: Delete, Preconditions: preconditions(f.Live)}
			v.Report.Message = fmt.Sprintf("the %s %s does not have it now", w.Source.Kind, w.Source.Name)
		case f.Patching:
			v = released(f, w.Source, v.Report.Message)
		}
		v.Report.Claimant = claimant(w)
		return &v
	}
	return nil
}

// operated says whether an operator has written the account that runs beside Holdfast.
func (f Facts) operated() bool {
	return slices.ContainsFunc(f.Live.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return f.Operators.Has(e.Manager) })
}

// wantedBySame says whether the object has the account by another template.
func wantedBySame(f Facts, w mapping.Want) bool {
	for _, other := range f.Wants {
		if other.Source.UID == w.Source.UID && (other.Enabled || other.Err != nil) {
			return true
		}
	}
	return false
}
