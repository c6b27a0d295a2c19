// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namespaces decides what each RootSync has to do with a namespace: make it,
// use it, wait for it, or leave it to another. It goes by what all RootSyncs want of
// it at once, and by the claims on the Namespace, so that the result is the same for
// every order in which they come.
package namespaces

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// How is what a RootSync wants of a namespace.
type How int

// A RootSync has one of these in a namespace; where several apply, the last.
const (
	// Needs: it has objects in the namespace, and does not make it: strategy "explicit".
	Needs How = iota
	// Makes: it has objects in the namespace, and makes it where it is not there:
	// strategy "implicit".
	Makes
	// Declares: it has the Namespace in its source.
	Declares
)

// Silent is of one of which nobody knows what it wants, since its source cannot be read or it is suspended
// and this process has never heard of it. What it has claimed stays.
const Silent How = -1

// Stake is what one RootSync wants of one namespace.
type Stake struct {
	How How
	// Since is when the RootSync was created.
	Since time.Time
	// Has says of one that is silent that it has objects in the namespace, or the
	// Namespace itself, by its inventory.
	Has bool
}

// claim is what a stake claims; false for what only needs the namespace.
func (s Stake) claim(sync object.Sync) (ownership.Claim, bool) {
	switch s.How {
	case Declares:
		return ownership.At(ownership.Declared, claimant(sync), s.Since), true
	case Makes:
		return ownership.At(ownership.Implicit, claimant(sync), s.Since), true
	default:
		return ownership.Claim{}, false
	}
}

func claimant(sync object.Sync) string {
	return ownership.RootSync(object.SyncNamespace, string(sync))
}

// Stakes are what all RootSyncs want of one namespace.
type Stakes map[object.Sync]Stake

func (s Stakes) declared() bool {
	for _, stake := range s {
		if stake.How == Declares {
			return true
		}
	}
	return false
}

// Contested says whether others may declare what a RootSync declares. Ruling.Rivals says who.
func (s Stakes) Contested(sync object.Sync) bool {
	if s[sync].How != Declares {
		return false
	}
	for other, stake := range s {
		if other != sync && (stake.How == Declares || stake.How == Silent) {
			return true
		}
	}
	return false
}

// silent says whether a claim is of a RootSync of which nobody knows what it wants.
func (s Stakes) silent(name string) bool {
	for sync, stake := range s {
		if stake.How == Silent && claimant(sync) == name {
			return true
		}
	}
	return false
}

// Ruling says whose a namespace is.
type Ruling struct {
	// There says that the Namespace exists and is not being deleted.
	There bool
	// Owner is the RootSync that is to apply the Namespace; empty if none is.
	Owner object.Sync
	// Write are the claims that are to be written before the owner applies it; nil if
	// they stand as they should.
	Write *ownership.Write
	// Claims that count, the strongest first.
	Claims []ownership.Claim
	// Why is one line for people.
	Why string

	stakes Stakes
	// exists is There, and also of one that is being deleted.
	exists bool
	// along says that a RootSync has made it along the way, and nobody declared it.
	along bool
	// alone says that each RootSync decides without a look at the others.
	alone bool
}

// Judge decides about a Namespace as it is in the API server, nil where there is none,
// by what all RootSyncs want of it. Now is the time of a write. An annotation that
// cannot be read is an *ownership.InvalidError: then nobody may act on the namespace.
//
// Where nobody declares it and no claims are written, it is as in Config Sync: whoever
// made it has it, and nobody adopts what was there before.
func Judge(live metav1.Object, stakes Stakes, now time.Time) (Ruling, error) {
	if live == nil {
		return newRuling(nil, absent(stakes), stakes), nil
	}
	written, seen, err := rewrite(live, stakes, now)
	if err != nil {
		return Ruling{}, err
	}
	verdict, err := ownership.Decide(seen)
	if err != nil {
		return Ruling{}, err
	}
	r := newRuling(live, verdict, stakes)
	if !stakes.declared() && !ownership.Written(live) {
		r.Owner = maker(live, stakes)
		return r, nil
	}
	r.Write = written
	return r, nil
}

// Alone is Judge where claims are turned off: as in Config Sync each RootSync decides by
// itself, and of several that declare a namespace each one applies it in turn.
func Alone(live metav1.Object, stakes Stakes) Ruling {
	r := newRuling(live, ownership.Verdict{}, stakes)
	r.alone = true
	if live != nil {
		r.Owner = maker(live, stakes)
	}
	return r
}

// Along says whether a namespace was made along the way, and nobody declares it: Config
// Sync writes no source path on those, and neither does Holdfast.
func Along(live metav1.Object) bool {
	return live.GetAnnotations()[object.AnnotationSourcePath] == "" && object.Managed(live, object.NamespaceID(live.GetName())) != ""
}

func newRuling(live metav1.Object, v ownership.Verdict, stakes Stakes) Ruling {
	r := Ruling{Claims: v.Claims, Why: v.Why(), stakes: stakes}
	if live != nil {
		r.exists, r.There = true, live.GetDeletionTimestamp() == nil
		r.along = Along(live)
	}
	for sync := range stakes {
		if v.Owns(claimant(sync)) {
			r.Owner = sync
		}
	}
	return r
}

// absent decides about a namespace that is not there: marks tell nothing yet.
func absent(stakes Stakes) ownership.Verdict {
	return ownership.Owner(ownership.New(stakes.claims()...), nil)
}

func (s Stakes) claims() []ownership.Claim {
	var out []ownership.Claim
	for _, sync := range slices.Sorted(maps.Keys(s)) {
		if c, ok := s[sync].claim(sync); ok {
			out = append(out, c)
		}
	}
	return out
}

// rewrite brings what is written on a Namespace in line with the stakes, and returns
// the Namespace as it would be then.
func rewrite(live metav1.Object, stakes Stakes, now time.Time) (*ownership.Write, metav1.Object, error) {
	change := ownership.Change{Claim: stakes.claims()}
	verdict, err := ownership.Decide(live)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range verdict.Claims {
		if stakes.silent(c.Claimant) {
			continue
		}
		if (c.How == ownership.Declared || c.How == ownership.Implicit) && !slices.ContainsFunc(change.Claim, func(o ownership.Claim) bool { return o.Claimant == c.Claimant }) {
			change.Release = append(change.Release, c.Claimant)
		}
	}
	w, err := ownership.Rewrite(live, change, now)
	if err != nil {
		return nil, nil, err
	}
	seen := &metav1.ObjectMeta{Name: live.GetName(), UID: live.GetUID(), Labels: live.GetLabels(), Annotations: maps.Clone(live.GetAnnotations())}
	if w != nil {
		metav1.SetMetaDataAnnotation(seen, v1alpha1.ClaimsAnnotation, w.Annotation)
	}
	if sync, ok := object.SyncOf(object.Managed(live, object.NamespaceID(live.GetName()))); ok && slices.Contains(change.Release, claimant(sync)) {
		delete(seen.Annotations, object.AnnotationManaged) // the mark goes with the claim
	}
	return w, seen, nil
}

// maker is the RootSync that has made a namespace that is there, by its mark, if it still needs it.
func maker(live metav1.Object, stakes Stakes) object.Sync {
	sync, ok := object.SyncOf(object.Managed(live, object.NamespaceID(live.GetName())))
	if stake, there := stakes[sync]; ok && there && stake.How == Makes {
		return sync
	}
	return ""
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

// Of says what a RootSync that has a stake does about the namespace.
func (r Ruling) Of(sync object.Sync) Act {
	stake := r.stakes[sync]
	switch {
	case r.alone && (stake.How == Declares || stake.How == Makes && !r.exists):
		return Own
	case r.Owner == sync && r.Write == nil:
		return Own
	case r.Owner != sync && stake.How == Declares:
		return Conflict
	case r.There:
		return Use
	default:
		return Wait
	}
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
	// Keep it, for others still use it.
	Keep
)

// FateOf says what becomes of the namespace for a RootSync that has no stake in it any
// more. Where it is kept, who still uses it is in the order of their names.
func (r Ruling) FateOf(sync object.Sync) (fate Fate, users []string) {
	if r.Owner != "" && r.Owner != sync && !r.alone {
		return HandOver, nil
	}
	if r.along || r.alone {
		return Prune, nil
	}
	if users = r.users(sync); len(users) == 0 {
		return Prune, nil
	}
	return Keep, users
}

// users are those who use the namespace beside one RootSync. One that is silent counts if
// it has a claim, or something there.
func (r Ruling) users(but object.Sync) (users []string) {
	for other, stake := range r.stakes {
		if other != but && (stake.How != Silent || stake.Has || r.claimed(other)) {
			users = append(users, "RootSync "+string(other))
		}
	}
	for _, c := range r.Claims {
		if c.How != ownership.Declared && c.How != ownership.Implicit {
			users = append(users, fmt.Sprintf("%s (%s)", c.Claimant, c.How))
		}
	}
	slices.Sort(users)
	return users
}
