// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// history is one object in a world where anything may happen to it.
type history struct {
	clock int
	// there is the object, and content what it says.
	there            *live.Seen
	content, foreign string

	declared   bool
	want       Want
	standing   object.Standing
	inventory  bool
	wrote      *Wrote
	deleted    types.UID
	writes     int
	lastAction Action
}

func (h *history) tick() string {
	h.clock++
	return fmt.Sprint(h.clock)
}

// happen does something that is not the sync's doing. Each keeps the rules of the API
// server: who changes a value owns it.
func (h *history) happen(what int) {
	if what >= 5 && h.there == nil {
		return
	}
	switch what {
	case 0:
		h.declared, h.inventory = true, true
		h.want.Digest = "d" + h.tick()
	case 1:
		h.declared = false
	case 2:
		h.wrote, h.deleted = nil, ""
	case 3:
		h.standing = []object.Standing{{Owner: me}, {Owner: me}, {Owner: other}, {Owner: other, Lacks: true}, {Open: true}}[h.clock%5]
	case 4:
		h.want.OnlyMetadata = !h.want.OnlyMetadata
	case 5:
		h.there.Owned, h.content = "some of "+h.there.Owned, "edited"
	case 6:
		h.foreign = "scaled"
	case 7:
		h.there, h.foreign = nil, ""
		return
	case 8:
		h.there.Manager, h.there.Stamps, h.there.Owned = "", "", "none of it"
	case 9:
		h.there.Manager, h.there.ApplySet, h.there.Stamps, h.there.Owned, h.content = other.Manager(), other.ApplySet(), "theirs", "theirs", "theirs"
	case 10:
		h.there.Detached = !h.there.Detached
	case 11:
		h.there.Ignored = !h.there.Ignored
	}
	if h.there != nil {
		h.there.ResourceVersion = h.tick()
	}
}

// settle decides and does it until nothing is left to do.
func (h *history) settle() bool {
	looked := false
	for range 6 {
		f := Facts{ID: id, Sync: me, Standing: h.standing, Known: true, Looked: looked, Wrote: h.wrote}
		if h.there != nil {
			seen := *h.there
			f.Seen = &seen
		}
		var v Verdict
		if h.declared {
			v = Declared(f, h.want)
		} else {
			v = Undeclared(f, Going{Inventoried: h.inventory, Deleted: h.deleted})
		}
		h.lastAction, looked = v.Action, v.Action == Look
		if h.do(v.Action) {
			return true
		}
	}
	return false
}

// do says whether that was all.
func (h *history) do(a Action) bool {
	switch a {
	case Look:
		return false
	case DryRunFirst:
		if h.content != h.want.Digest || h.there.Owned != "all of "+h.want.Digest || h.there.Stamps != "s" {
			h.apply()
			return false
		}
		h.remember()
		return false
	case Apply:
		h.apply()
		return false
	case ApplyMetadata:
		h.writes++
		h.there.Manager, h.there.ApplySet, h.there.Stamps, h.there.ResourceVersion = me.Manager(), me.ApplySet(), "s", h.tick()
		h.there.Ignored = h.want.OnlyMetadata
		h.remember()
		h.wrote.Digest = "" // of the content nothing is known
		return false
	case Delete:
		h.writes++
		h.deleted, h.there = h.there.UID, nil
		return false
	case Abandon:
		h.writes++
		h.there.Manager, h.there.ApplySet, h.there.Stamps, h.there.ResourceVersion, h.there.Owned = "", "", "", h.tick(), "less"
		return false
	case HandOver:
		return true // the other takes it over, or goes
	case Gone:
		h.inventory, h.wrote, h.deleted = false, nil, ""
	}
	return true
}

func (h *history) apply() {
	h.writes++
	if h.there == nil {
		h.there = &live.Seen{UID: types.UID(h.tick())}
	}
	h.there.Ignored = h.there.Ignored || h.want.OnlyMetadata
	h.content = h.want.Digest
	h.there.Owned, h.there.Manager, h.there.ApplySet, h.there.Stamps = "all of "+h.want.Digest, me.Manager(), me.ApplySet(), "s"
	h.there.ResourceVersion = h.tick()
	h.remember()
}

func (h *history) remember() {
	h.wrote = &Wrote{Digest: h.want.Digest, UID: h.there.UID, ResourceVersion: h.there.ResourceVersion, Owned: h.there.Owned}
}

// wrong says what is not as it should be once all is settled.
func (h *history) wrong(before *live.Seen, content, foreign string) string {
	mine := h.there != nil && h.there.Manager == me.Manager()
	switch {
	case h.foreign != foreign && before != nil && h.there != nil && before.UID == h.there.UID:
		return "a field of another was written"
	case h.declared && h.standing.Owner == other && (h.writes > 0 || h.lastAction != Conflict && !(h.standing.Lacks && h.lastAction == Keep)):
		return "another may have it, and it was written"
	case h.standing.Open && h.writes > 0 && (before == nil || before.Manager != me.Manager() || !h.declared):
		return "it was written before it was known who may"
	case h.declared && h.standing.Owner == me && !mine:
		return "it is not there, or not ours"
	case h.declared && h.standing.Owner == me && h.want.OnlyMetadata && before != nil && h.content != content:
		return "it was to be left as it is"
	case h.declared && h.standing.Owner == me && !h.want.OnlyMetadata && h.content != h.want.Digest:
		return "it is not as declared"
	case h.declared && h.standing.Owner == me && h.there.Ignored != h.want.OnlyMetadata:
		return "it does not say whether it is left as it is"
	case !h.declared && h.standing.Owner == me && mine && h.inventory:
		return "it should have gone"
	case !h.declared && before != nil && h.there == nil && (before.Manager != me.Manager() || before.Detached || h.standing.Owner == other):
		return "it was not ours to delete"
	}
	return ""
}

// Whatever happens to an object in whatever order: it ends as is declared with two
// writes at most, no other's object is written or deleted, and then there is rest.
func TestHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		h := &history{standing: object.Standing{Owner: me}, want: Want{Stamps: "s", Digest: "d0"}}
		var told []int
		for range 1 + rng.IntN(10) {
			for range 1 + rng.IntN(3) {
				told = append(told, rng.IntN(12))
				h.happen(told[len(told)-1])
			}
			var before *live.Seen
			if h.there != nil {
				was := *h.there
				before = &was
			}
			content, foreign := h.content, h.foreign
			h.writes = 0
			if !h.settle() || h.writes > 2 {
				t.Fatalf("seed %d: after %v there is no rest: %d writes, last %s", seed, told, h.writes, h.lastAction)
			}
			if wrong := h.wrong(before, content, foreign); wrong != "" {
				t.Fatalf("seed %d: after %v: %s (last %s): %+v", seed, told, wrong, h.lastAction, h.there)
			}
			h.writes = 0
			h.settle()
			if h.writes > 0 {
				t.Fatalf("seed %d: after %v it is written again", seed, slices.Clone(told))
			}
		}
	}
}
