// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// special are namespaces that the cluster needs.
var special = []string{"default", "kube-system", "kube-public", "kube-node-lease", "gatekeeper-system", object.SyncNamespace}

// Going is what else counts for an object that is not declared any more.
type Going struct {
	// Inventoried says whether it is in the inventory.
	Inventoried bool
	// Orphan says that objects stay when their sync goes.
	Orphan bool
	// Deleted is the UID of the object that was asked to go.
	Deleted types.UID
	// Needed says why it is needed, and InUse which namespace is in use, by whom: both
	// empty if it may go.
	Needed, InUse string
	// KeptBy are an anchor or other tools that manage it too; empty if there are none.
	KeptBy string
	// Refusal is the answer when it was asked to go, as long as it counts, and Code that
	// of the error about it; empty for knv.Applier.
	Refusal string
	Code    knv.Code
}

// Undeclared decides about an object that is not declared, and is in the inventory or
// looks like one of the sync's.
func Undeclared(f Facts, g Going) Verdict {
	if v, ok := left(f, g); ok {
		return v
	}
	switch {
	case f.Seen.Deleting && !g.Orphan:
		return because(Wait, "it is being deleted")
	case f.OutOfScope && g.Orphan:
		return because(Gone, f.outOfScope())
	case f.OutOfScope:
		return Verdict{Action: Keep, Code: knv.Applier, Why: plan.SkippedDelete(f.ID, f.outOfScope())}
	case g.Orphan, f.Seen.Detached, g.KeptBy != "", f.ID.IsNamespace() && slices.Contains(special, f.ID.Name):
		return because(Abandon, cmp.Or(g.keeper(), "it is to stay"))
	case g.InUse != "":
		return Verdict{Action: Keep, Code: knv.Applier, Why: plan.SkippedDelete(f.ID, g.InUse)}
	case g.Needed != "":
		return Verdict{Action: Keep, Code: knv.Applier, Why: plan.SkippedDelete(f.ID, g.Needed)}
	case g.Refusal != "":
		return Verdict{Action: Keep, Code: cmp.Or(g.Code, knv.Applier), Why: g.Refusal}
	}
	return because(Delete, "it is not declared any more")
}

// keeper says who keeps it; empty if there is no other.
func (g Going) keeper() string {
	if g.KeptBy == "" {
		return ""
	}
	return g.KeptBy + " manages it too, and no RootSync uses it any more"
}

// anothers says whether another RootSync may have the object.
func (f Facts) anothers() bool { return f.Owner != "" && f.Owner != f.Sync }

// mine says whether the object was seen with this RootSync's mark.
func (f Facts) mine() bool { return f.Seen != nil && f.Seen.Manager == f.Sync.Manager() }

// outOfScope says why nothing is written.
func (f Facts) outOfScope() string {
	return fmt.Sprintf("the namespace %s is not in the scope of Holdfast's configuration, so it is left as it is", cmp.Or(f.ID.Namespace, f.ID.Name))
}

// left decides about an object of which the sync has to leave everything as it is.
func left(f Facts, g Going) (Verdict, bool) {
	anothers := f.anothers()
	switch {
	case anothers && g.Orphan:
		return because(Gone, "another RootSync has it"), true
	case !f.Known && !f.Looked:
		// It may be there with this one's mark, and the other may go before it has taken it over.
		return because(Wait, "it is not known yet what is there of its kind"), true
	case anothers && !f.mine():
		return because(Gone, "another RootSync has it"), true
	case f.Seen == nil:
		return unseen(f, g), true
	case f.Wrote != nil && f.Seen.Older(f.Wrote.ResourceVersion):
		return because(Wait, "the watch has yet to tell of the last write"), true
	}
	if v, ok := passing(f); ok {
		return v, true
	}
	why := others(f, g)
	return because(Gone, why), why != ""
}

// passing decides about what is another's, or this one's, in a moment.
func passing(f Facts) (Verdict, bool) {
	switch {
	case f.Open && f.mine():
		return because(Ask, undecided), true
	case f.Owner == "" || !f.mine():
		return Verdict{}, false
	case f.anothers():
		// That one can go before it has taken it over, and then nobody would remember it.
		return because(HandOver, plan.SkippedDelete(f.ID, fmt.Sprintf("RootSync %s may have it and has yet to take it over", f.Owner))), true
	case f.ID.IsNamespace():
		// Whose a namespace is that nobody declares turns out when it is seen, and may have
		// changed since it was left out. Without its mark nobody would have it.
		return because(Wait, "it is this RootSync's, and will be declared in a moment"), true
	}
	return Verdict{}, false
}

func unseen(f Facts, g Going) Verdict {
	switch {
	case f.Looked, !g.Inventoried:
		return because(Gone, "it is not there")
	case g.Deleted != "":
		return because(Gone, "it was deleted")
	}
	return because(Look, "it may be there without its label")
}

// others says why an object is not the sync's to delete; empty if it is.
func others(f Facts, g Going) string {
	switch {
	case f.Seen.Manager != f.Sync.Manager():
		return "it is not managed by this RootSync"
	case !g.Inventoried && f.Seen.ApplySet != f.Sync.ApplySet():
		return "it does not have all that a managed object has"
	case f.Seen.HasOwner:
		return "it belongs to another object"
	case f.CopyOf != "":
		return "the hierarchy keeps it"
	}
	return ""
}
