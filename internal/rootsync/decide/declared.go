// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// Declared decides about an object that is declared.
func Declared(f Facts, w Want) Verdict {
	switch {
	case f.OutOfScope && (!w.Disabled || f.mine()):
		return Verdict{Action: Keep, Code: knv.Applier, Why: plan.SkippedApply(f.ID, f.outOfScope())}
	case w.Disabled:
		return disabled(f)
	}
	if v, ok := contested(f); ok {
		return v
	}
	switch {
	case !f.Known && !f.Looked:
		return because(Wait, "it is not known yet what is there of its kind")
	case f.Seen == nil:
		return absent(f, w)
	case f.Wrote != nil && f.Seen.Older(f.Wrote.ResourceVersion):
		return because(Nothing, "the watch has yet to tell of the last write")
	case f.Seen.Deleting:
		return because(Wait, "it is being deleted, and made again after that")
	}
	return present(f, w)
}

// contested decides about an object that this RootSync has no claim on, or not for certain.
func contested(f Facts) (Verdict, bool) {
	switch {
	case f.Lacks:
		return lacking(f), true
	case f.anothers():
		return conflict(f, f.Owner.Manager()), true
	case f.Open && !f.mine():
		return because(Ask, undecided), true
	}
	return Verdict{}, false
}

// present decides about an object that was seen.
func present(f Facts, w Want) Verdict {
	mine := f.Seen.Manager == f.Sync.Manager()
	switch {
	case f.CopyOf != "":
		return Verdict{Action: Conflict, Code: knv.Applier, Why: fmt.Sprintf(
			"failed to apply %s: it is a copy, which the hierarchy keeps as it is in the namespace %s: change it there, or keep it from being copied", f.ID, f.CopyOf)}
	case ofRootSync(f.Seen.Manager) && !mine && f.Owner != f.Sync:
		return conflict(f, f.Seen.Manager)
	case w.OnlyMetadata:
		return onlyMetadata(f, w, mine)
	case f.Seen.Ignored:
		// The annotation has no effect without the declaration, but suggests on the object that drift stays.
		return Verdict{Action: ApplyMetadata, Why: "it is not declared to be left as it is", Drift: f.Wrote != nil}
	case !mine:
		return Verdict{Action: Apply, Why: "it is taken over", Drift: f.Wrote != nil}
	case older(f, w):
		return because(Apply, "it was applied for another commit")
	case f.Wrote == nil:
		return because(DryRunFirst, "it is not known whether it is as it should be")
	}
	return compared(f, w)
}

// older says whether an object was applied for another commit, where that counts.
func older(f Facts, w Want) bool { return w.Exact && f.Seen.Version != w.Version }

// onlyMetadata decides about an object whose content is left as it is.
func onlyMetadata(f Facts, w Want, mine bool) Verdict {
	if f.Seen.Stamps == w.Stamps && f.Seen.Ignored && !older(f, w) {
		return because(Nothing, "it is left as it is")
	}
	return Verdict{Action: ApplyMetadata, Why: "what says whose it is is not as it should be", Drift: f.Wrote != nil && mine && !older(f, w)}
}

// compared decides by what was written last.
func compared(f Facts, w Want) Verdict {
	switch {
	case f.Wrote.Digest != w.Digest:
		return because(Apply, "it is declared otherwise than before")
	case f.Wrote.UID != f.Seen.UID, f.Wrote.Owned != f.Seen.Owned:
		return Verdict{Action: Apply, Why: "somebody has changed it", Drift: true}
	}
	return because(Nothing, "it is as it should be")
}

func ofRootSync(manager string) bool {
	return manager != "" && !object.OfNamespaceReconciler(manager)
}

// absent decides about an object that was not seen.
func absent(f Facts, w Want) Verdict {
	switch {
	case f.Wrote != nil && f.Lagging:
		return because(Nothing, "the watch has yet to tell of the last write")
	case w.OnlyMetadata && !f.Looked:
		// It may be there without its label, and then its content is not to be written.
		return because(Look, "it may be there without its label")
	case f.MayBeCopy && !f.Looked:
		return because(Look, "there may be a copy, which is not to be written")
	}
	return Verdict{Action: Apply, Why: "it is not there", Drift: f.Wrote != nil}
}

// disabled decides about an object that is declared as not managed.
func disabled(f Facts) Verdict {
	switch {
	case !f.Known && !f.Looked:
		return because(Wait, "it is not known yet what is there of its kind")
	case f.Seen != nil && f.Seen.Manager == f.Sync.Manager():
		return because(Abandon, "it is declared as not managed")
	}
	return because(Gone, "it is not managed")
}

// undecided is the reason of Ask.
const undecided = "it is not known yet which RootSync may write it"

// lacking is the verdict on an object that others declare too and that the RootSync may not write. What still has its mark
// stays in the inventory until another RootSync applies it.
func lacking(f Facts) Verdict {
	v := Verdict{Action: Conflict, Code: knv.InsufficientRights}
	if f.mine() {
		v.Action = Keep
	}
	owner := ""
	if f.Owner != "" {
		owner = fmt.Sprintf(", and RootSync %s owns it", f.Owner)
	}
	v.Why = fmt.Sprintf("failed to apply %s: %s may not write it, so that this RootSync has no claim on it%s: "+
		"give that account a role that may, by spec.override.roleRefs, or remove the object from the source", f.ID, f.Sync.User(), owner)
	return v
}

// conflict is the verdict on an object that is another's.
func conflict(f Facts, other string) Verdict {
	return Verdict{Action: Conflict, Code: knv.ManagementConflict, Why: fmt.Sprintf(
		"The %q reconciler detected a management conflict with the %q reconciler. "+
			"Remove the object from one of the sources of truth so that the object is only managed by one reconciler.", f.Sync.Manager(), other)}
}
