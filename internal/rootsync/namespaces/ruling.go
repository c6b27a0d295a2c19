// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Ruling says whose a namespace is.
type Ruling struct {
	// There says that the Namespace exists and is not being deleted.
	There bool
	// Owner is the RootSync that is to apply the Namespace; empty if none is.
	Owner object.Sync
	// Open reports that Owner depends on a right for which the API server has not answered yet.
	Open bool
	// Write are the claims that are to be written before the owner applies it; nil if
	// they stand as they should.
	Write *ownership.Write
	// Claims that count, the strongest first.
	Claims []ownership.Claim
	// Why is one line for people.
	Why string

	contest

	rights Rights
	// exists is There, and also of one that is being deleted.
	exists bool
	// along says that a RootSync has made it along the way, and nobody declared it.
	along bool
	// alone says that each RootSync decides without a look at the others.
	alone bool
}

func newRuling(live metav1.Object, v ownership.Verdict, c contest, rights Rights) Ruling {
	r := Ruling{Claims: v.Claims, Why: v.Why(), contest: c, rights: rights}
	if live != nil {
		r.exists, r.There = true, live.GetDeletionTimestamp() == nil
		r.along = Along(live)
	}
	for sync := range c.stakes {
		if v.Owns(claimant(sync)) {
			r.Owner = sync
		}
	}
	return r
}

// claim is that of a RootSync, if it has one.
func (r Ruling) claim(sync object.Sync) (ownership.Claim, bool) {
	i := slices.IndexFunc(r.Claims, func(c ownership.Claim) bool { return c.Claimant == claimant(sync) })
	if i < 0 {
		return ownership.Claim{}, false
	}
	return r.Claims[i], true
}

func (r Ruling) claimed(sync object.Sync) bool {
	_, ok := r.claim(sync)
	return ok
}

// declares says whether a RootSync declares the namespace, by its source or, if it is
// silent, by its claim.
func (r Ruling) declares(sync object.Sync) bool {
	if r.stakes[sync].How == Silent {
		c, ok := r.claim(sync)
		return ok && c.How == ownership.Declared
	}
	return r.stakes[sync].How == Declares
}

// Act is what a RootSync does about a namespace.
type Act int

const (
	// Wait until somebody else has made it, or the claims are written.
	Wait Act = iota
	// Use what is there, and leave it as it is.
	Use
	// Own it: this RootSync applies it.
	Own
	// Conflict with another RootSync that declares it too, and has it.
	Conflict
)

// Of says what a RootSync that has a stake does about the namespace. One that may not write it uses it at most.
func (r Ruling) Of(sync object.Sync) Act {
	stake := r.stakes[sync]
	switch {
	case r.alone && (stake.How == Declares || stake.How == Makes && !r.exists):
		return Own
	case r.Owner == sync && r.Write == nil:
		return Own
	case r.Owner != sync && stake.How == Declares && !r.Open:
		return Conflict
	case r.There:
		return Use
	default:
		return Wait
	}
}

// Standing is that of a RootSync in the contest for the Namespace.
func (r Ruling) Standing(sync object.Sync) object.Standing {
	how, lacks := r.lacks[sync]
	return object.Standing{Owner: r.Owner, Lacks: lacks && how == Declares, Open: r.Open}
}

// Awaits reports whether a RootSync may become the owner by an answer that is not known yet.
func (r Ruling) Awaits(sync object.Sync) bool { return r.Open && r.stakes[sync].How > Needs }

// Unmade reports whether the namespace is missing, and a RootSync that needs it would make it and may not.
func (r Ruling) Unmade(sync object.Sync) bool {
	how, lacks := r.lacks[sync]
	return lacks && how == Makes && !r.exists && r.Owner == "" && !r.Open
}

// Rivals are the RootSyncs that declare the namespace beside this one, in the order of
// their names.
func (r Ruling) Rivals(sync object.Sync) []object.Sync {
	var out []object.Sync
	for other := range r.stakes {
		if other != sync && r.declares(other) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return out
}

// Fate is what becomes of a namespace that a RootSync had and wants no longer.
type Fate int

const (
	// Prune it, or let it go, as any object: nobody else has to do with it, or the
	// RootSync has made it along the way, and Config Sync lets such a namespace go.
	Prune Fate = iota
	// HandOver to another RootSync that has it now: this one forgets it and touches nothing.
	HandOver
	// Keep it, for other RootSyncs still use it.
	Keep
	// LetGo is to remove the marks of the RootSync: an anchor or another tool manages the namespace too, and no RootSync uses it.
	LetGo
)

// FateOf says what becomes of the namespace for a RootSync that has no stake in it any
// more. Where it stays, who has or uses it is in the order of their names; open says that it is not known yet whether
// a RootSync does.
func (r Ruling) FateOf(sync object.Sync) (fate Fate, users []string, open bool) {
	switch {
	case r.Open:
		return Keep, nil, true
	case r.Owner != "" && r.Owner != sync && !r.alone:
		return HandOver, nil, false
	case r.along || r.alone:
		return Prune, nil, false
	}
	syncs, open := r.syncs(sync)
	users = slices.Sorted(slices.Values(append(syncs, r.strangers()...)))
	switch {
	case len(syncs) > 0:
		return Keep, users, false
	case open:
		return Keep, nil, true
	case len(users) > 0:
		return LetGo, users, false
	}
	return Prune, nil, false
}

// syncs are the RootSyncs that use the namespace beside one. One that is silent counts if
// it has a claim, or something there. A RootSync that may write nothing of what it has there uses nothing.
func (r Ruling) syncs(but object.Sync) (users []string, open bool) {
	for other, stake := range r.stakes {
		if other == but || stake.How == Silent && !stake.Has && !r.claimed(other) {
			continue
		}
		switch right(r.rights.Inside, other) {
		case object.Granted:
			users = append(users, "RootSync "+string(other))
		case object.Unknown:
			open = true
		case object.Missing:
		}
	}
	return users, open
}

// strangers are those with a claim who are no RootSyncs.
func (r Ruling) strangers() (users []string) {
	for _, c := range r.Claims {
		if c.How != ownership.Declared && c.How != ownership.Implicit {
			users = append(users, fmt.Sprintf("%s (%s)", c.Claimant, c.How))
		}
	}
	return users
}
