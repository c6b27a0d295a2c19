// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"slices"
	"strings"
	"sync"
	"time"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/brake"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// removals asks the brake before copies go.
type removals struct {
	keeper *Keeper

	mu    sync.Mutex
	brake *brake.Brake
	// held are the places whose copies may not go now.
	held map[item]bool
}

// asked is the brake, which goes on where an earlier process has stopped.
func (r *removals) asked() *brake.Brake {
	if r.brake == nil {
		var since time.Time
		if p := r.keeper.o.World.Config(); p != nil && p.Config != nil {
			if c := copiesHeld(p.Config.Status); c != nil {
				since = c.LastTransitionTime.Time
			}
		}
		r.brake, r.held = brake.New(r.keeper.o.Clock.Now(), since), map[item]bool{}
	}
	return r.brake
}

// nameOf is what people are told of a copy.
func nameOf(at world.CopyRef) string { return at.Kind.String() + " " + at.Namespace + "/" + at.Name }

// removal is one that a plan asks for; not ok if it asks for none.
func removal(at world.CopyRef, p *world.CopyPlan) (out brake.Removal, ok bool) {
	if p == nil || decide(p) != remove {
		return brake.Removal{}, false
	}
	out = brake.Removal{Copy: nameOf(at)}
	switch {
	case p.Mode == hncv1alpha2.ModeRemove:
		out.Cause = brake.KindRemoved
	case p.Unsafe:
		out.Cause = brake.Unsafe
	case p.Explained:
		out.Cause = brake.SourceDeleted
	}
	return out, true
}

// together tells the brake what would go at once: all of that goes, or none.
func (r *removals) together(d world.Dirty) {
	var group []brake.Removal
	var bounds brake.Bounds
	copies := 0
	for at := range d.Copies {
		p := r.keeper.o.World.Copy(at)
		if one, ok := removal(at, p); ok && one.Cause == brake.Unexplained {
			group, bounds, copies = append(group, one), brake.Bounds(p.Brake), p.Copies
		}
	}
	if len(group) == 0 {
		return
	}
	slices.SortFunc(group, func(a, b brake.Removal) int { return strings.Compare(a.Copy, b.Copy) }) // examples are the same each time
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked().Ask(r.keeper.o.Clock.Now(), bounds, copies, group...)
}

// may says whether a copy may go now. One that may not is asked for again.
func (r *removals) may(i item, at world.CopyRef, p *world.CopyPlan) bool {
	one, ok := removal(at, p)
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.asked().Ask(r.keeper.o.Clock.Now(), brake.Bounds(p.Brake), p.Copies, one); len(v.Halt) == 0 {
		delete(r.held, i)
		return true
	}
	r.held[i] = true
	r.keeper.later(i, r.keeper.o.Pauses.HeldRemovals)
	return false
}

// stays takes in that a copy is not to go, or is gone.
func (r *removals) stays(i item, at world.CopyRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, i)
	if r.asked().Stay(nameOf(at)) {
		r.keeper.later(item{what: theConfig}, r.keeper.o.Pauses.TreeStatus) // which says how many wait
	}
}

// again forgets what waits: everything is looked at anew.
func (r *removals) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked().Again(r.keeper.o.Clock.Now())
	clear(r.held)
}

// consented takes in what the HNCConfiguration says, and has go what may go now.
func (r *removals) consented(c *hncv1alpha2.HNCConfiguration) {
	if c == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked().Consent(r.keeper.o.Clock.Now(), c.Annotations[v1alpha1.LetCopiesGoAnnotation]) {
		return
	}
	for i := range r.held {
		r.keeper.add(i)
	}
}

// halted says what waits for consent.
func (r *removals) halted() (brake.Halt, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked().Halted()
}
