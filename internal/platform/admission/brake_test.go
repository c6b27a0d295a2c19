// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	b, now := newBrake(), time.Unix(0, 0)
	// pass is one of the Reconciler: it repairs something, if there is something to repair and the brake lets it.
	pass := func(differs bool) (repairs, calm bool) {
		repairs = differs && !b.holds(now)
		if repairs {
			b.repaired(now)
		}
		return repairs, b.calm(now)
	}
	for _, step := range []struct {
		name          string
		after         time.Duration
		differs       bool
		times         int
		repairs, calm bool
	}{
		{name: "somebody deletes some policies by hand", differs: true, times: brakeBurst / 2, repairs: true, calm: true},
		{name: "and does not stop", differs: true, times: brakeBurst / 2, repairs: true},
		{name: "so nothing is put back for a pause", differs: true, times: 3},
		{name: "a pause later one is", after: brakePause, differs: true, times: 1, repairs: true},
		{name: "and then none again", differs: true, times: 1},
		{name: "nothing differs, which may be the other's pause", after: brakePause, times: 1},
		{name: "nothing differs for long", after: brakeCalm * brakePause, times: 1, calm: true},
		{name: "somebody deletes one more", differs: true, times: 1, repairs: true, calm: true},
	} {
		now = now.Add(step.after)
		for n := range step.times {
			if repairs, calm := pass(step.differs); repairs != step.repairs || calm != step.calm {
				t.Fatalf("%s, pass %d: repairs: %t, calm: %t", step.name, n, repairs, calm)
			}
		}
	}
}

// Of two writers the other one repairs only as often as the first, and would never be held itself.
func TestBrake_twoWritersBothKnow(t *testing.T) {
	t.Parallel()
	first, second, now := newBrake(), newBrake(), time.Unix(0, 0)
	for range 100 {
		if !first.holds(now) {
			first.repaired(now)
			second.repaired(now)
		}
		now = now.Add(brakePause / 10)
	}
	if first.calm(now) || second.calm(now) {
		t.Errorf("the first is calm: %t, the second: %t", first.calm(now), second.calm(now))
	}
}
