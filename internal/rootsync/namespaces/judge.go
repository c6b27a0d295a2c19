// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namespaces decides what each RootSync has to do with a namespace: make it,
// use it, wait for it, or leave it to another. It goes by what all RootSyncs want of
// it at once and may do, and by the claims on the Namespace, so that the result is the
// same for every order in which they come.
package namespaces

import (
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

// Rights answer what the accounts of RootSyncs may do about one namespace. A nil function grants everything.
type Rights struct {
	// Namespace answers for the Namespace itself: whether an account may apply it, and create it where there is none.
	Namespace func(object.Sync) object.Right
	// Inside answers whether an account may write any of the objects that its RootSync declares or has in the namespace.
	Inside func(object.Sync) object.Right
}

func right(of func(object.Sync) object.Right, sync object.Sync) object.Right {
	if of == nil {
		return object.Granted
	}
	return of(sync)
}

// Judge decides about a Namespace as it is in the API server, nil where there is none,
// by what all RootSyncs want of it and may do. Now is the time of a write. An annotation that
// cannot be read is an *ownership.InvalidError: then nobody may act on the namespace.
//
// A RootSync whose account may not write the Namespace has no claim on it, whatever it declares. Rights are asked for only
// where a decision depends on them: if several RootSyncs would claim it, or a claim is or would be written.
//
// Where nobody declares it and no claims are written, it is as in Config Sync: whoever
// made it has it, and nobody adopts what was there before.
func Judge(live metav1.Object, stakes Stakes, rights Rights, now time.Time) (Ruling, error) {
	if live == nil {
		return absent(stakes, rights), nil
	}
	claimants, err := stakes.claimants(live)
	if err != nil {
		return Ruling{}, err
	}
	c := contest{stakes: stakes}
	if matters, err := c.dependsOnRights(live, claimants, now); err != nil {
		return Ruling{}, err
	} else if matters {
		c = stakes.weigh(claimants, rights.Namespace)
	}
	r, err := c.judge(live, rights, now)
	if err != nil || len(c.open) == 0 {
		return r, err
	}
	if r.Owner, r.Open, err = c.foreseen(live, now); r.Open {
		r.Owner = ""
	}
	return r, err
}

// Alone is Judge where claims are turned off: as in Config Sync each RootSync decides by
// itself, and of several that declare a namespace each one applies it in turn.
func Alone(live metav1.Object, stakes Stakes) Ruling {
	r := newRuling(live, ownership.Verdict{}, contest{stakes: stakes}, Rights{})
	r.alone = true
	if live != nil {
		r.Owner = r.maker(live)
	}
	return r
}

// Along says whether a namespace was made along the way, and nobody declares it: Config
// Sync writes no source path on those, and neither does Holdfast.
func Along(live metav1.Object) bool {
	return live.GetAnnotations()[object.AnnotationSourcePath] == "" && object.Managed(live, object.NamespaceID(live.GetName())) != ""
}

// claimants are the RootSyncs that claim a Namespace, or would.
func (s Stakes) claimants(live metav1.Object) ([]object.Sync, error) {
	verdict, err := ownership.Decide(live)
	if err != nil {
		return nil, err
	}
	claims := func(name string) bool {
		return slices.ContainsFunc(verdict.Claims, func(c ownership.Claim) bool { return c.Claimant == name })
	}
	var out []object.Sync
	for _, sync := range slices.Sorted(maps.Keys(s)) {
		if how := s[sync].How; how == Declares || how == Makes || how == Silent && claims(claimant(sync)) {
			out = append(out, sync)
		}
	}
	return out, nil
}

// contest has the stakes in a namespace, weighed by the rights of the RootSyncs that have them.
type contest struct {
	// stakes are those that count: a RootSync that may not write the Namespace needs it at most.
	stakes Stakes
	// lacks are the RootSyncs that may not write it, with what they want all the same, and open those for which the API
	// server has not answered yet.
	lacks map[object.Sync]How
	open  map[object.Sync]bool
}

// dependsOnRights reports whether a decision depends on who may write the Namespace.
func (c contest) dependsOnRights(live metav1.Object, claimants []object.Sync, now time.Time) (bool, error) {
	switch {
	case ownership.Written(live):
		return true, nil
	case !c.stakes.declared():
		return false, nil
	case len(claimants) > 1:
		return true, nil
	}
	write, _, err := c.rewrite(live, now)
	return write != nil, err
}

// absent decides about a namespace that is not there: marks tell nothing yet.
func absent(stakes Stakes, rights Rights) Ruling {
	c := contest{stakes: stakes}
	if inOrder := ownership.Owner(ownership.New(c.claims()...), nil).Claims; len(inOrder) > 1 {
		var asked []object.Sync
		for _, claim := range inOrder {
			sync := claimantOf(stakes, claim.Claimant)
			if asked = append(asked, sync); right(rights.Namespace, sync) != object.Missing {
				break
			}
		}
		c = stakes.weigh(asked, rights.Namespace)
	}
	r := newRuling(nil, ownership.Owner(ownership.New(c.claims()...), nil), c, rights)
	if len(c.open) > 0 {
		r.Owner, r.Open = "", true
	}
	return r
}

func claimantOf(stakes Stakes, name string) object.Sync {
	for sync := range stakes {
		if claimant(sync) == name {
			return sync
		}
	}
	return ""
}

// maker is the RootSync that has made a namespace that is there, by its mark, if it still needs it. It stays the maker
// without the right to write the Namespace: nobody else adopts it.
func (c contest) maker(live metav1.Object) object.Sync {
	sync, ok := object.SyncOf(object.Managed(live, object.NamespaceID(live.GetName())))
	if ok && (c.stakes[sync].How == Makes || c.lacks[sync] == Makes) {
		return sync
	}
	return ""
}

// weigh asks for the rights of some RootSyncs.
func (s Stakes) weigh(claimants []object.Sync, may func(object.Sync) object.Right) contest {
	c := contest{stakes: maps.Clone(s), lacks: map[object.Sync]How{}, open: map[object.Sync]bool{}}
	for _, sync := range claimants {
		switch right(may, sync) {
		case object.Missing:
			c.drop(sync)
		case object.Unknown:
			c.open[sync] = true
		case object.Granted:
		}
	}
	return c
}

// drop takes away the claim of a RootSync.
func (c contest) drop(sync object.Sync) {
	stake := c.stakes[sync]
	c.lacks[sync] = stake.How
	stake.How = min(stake.How, Needs)
	c.stakes[sync] = stake
}

// answered is the contest as it will be if all open rights turn out to be granted, or missing.
func (c contest) answered(r object.Right) contest {
	out := contest{stakes: maps.Clone(c.stakes), lacks: maps.Clone(c.lacks)}
	for sync := range c.open {
		if r == object.Missing {
			out.drop(sync)
		}
	}
	return out
}

// foreseen is the owner whatever the answers are that are not known yet; open if it depends on them.
func (c contest) foreseen(live metav1.Object, now time.Time) (owner object.Sync, open bool, err error) {
	with, err := c.answered(object.Granted).judge(live, Rights{}, now)
	if err != nil {
		return "", true, err
	}
	without, err := c.answered(object.Missing).judge(live, Rights{}, now)
	return with.Owner, with.Owner != without.Owner, err
}

// judge decides by the claims that count. What has no answer yet neither gets a claim nor loses one.
func (c contest) judge(live metav1.Object, rights Rights, now time.Time) (Ruling, error) {
	written, seen, err := c.rewrite(live, now)
	if err != nil {
		return Ruling{}, err
	}
	verdict, err := ownership.Decide(seen)
	if err != nil {
		return Ruling{}, err
	}
	r := newRuling(live, verdict, c, rights)
	if !c.declared() && !ownership.Written(live) {
		r.Owner = c.maker(live)
		return r, nil
	}
	r.Write = written
	return r, nil
}

// declared reports whether a RootSync declares the namespace that may.
func (c contest) declared() bool {
	for sync, stake := range c.stakes {
		if stake.How == Declares && !c.open[sync] {
			return true
		}
	}
	return false
}

func (c contest) claims() []ownership.Claim {
	var out []ownership.Claim
	for _, sync := range slices.Sorted(maps.Keys(c.stakes)) {
		if claim, ok := c.stakes[sync].claim(sync); ok && !c.open[sync] {
			out = append(out, claim)
		}
	}
	return out
}

// stays reports whether a claim that is written stays, whatever the stakes are: nobody knows what its RootSync wants, or may.
func (c contest) stays(name string) bool {
	for sync, stake := range c.stakes {
		if claimant(sync) == name {
			_, lacks := c.lacks[sync]
			return c.open[sync] || stake.How == Silent && !lacks
		}
	}
	return false
}

// rewrite brings what is written on a Namespace in line with the stakes, and returns
// the Namespace as it would be then.
func (c contest) rewrite(live metav1.Object, now time.Time) (*ownership.Write, metav1.Object, error) {
	change := ownership.Change{Claim: c.claims()}
	verdict, err := ownership.Decide(live)
	if err != nil {
		return nil, nil, err
	}
	for _, has := range verdict.Claims {
		if c.stays(has.Claimant) {
			continue
		}
		if (has.How == ownership.Declared || has.How == ownership.Implicit) && !slices.ContainsFunc(change.Claim, func(o ownership.Claim) bool { return o.Claimant == has.Claimant }) {
			change.Release = append(change.Release, has.Claimant)
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
