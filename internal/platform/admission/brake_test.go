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
		if b.holds(now) {
			return false, false
		}
		if differs {
			b.repaired(now)
		}
		return differs, b.calm(now, differs)
	}
	for _, step := range []struct {
		name          string
		after         time.Duration
		differs       bool
		times         int
		repairs, calm bool
	}{
		{name: "somebody deletes policies by hand", differs: true, times: brakeBurst, repairs: true, calm: true},
		{name: "and does not stop", differs: true, times: 3},
		{name: "a pause later one repair is made, and it is contested still", after: brakePause, differs: true, times: 1, repairs: true},
		{name: "after that none, again", differs: true, times: 1},
		{name: "nothing differs for a pause, which may be the other's pause", after: brakePause, times: 1},
		{name: "nothing differs for long", after: 10 * brakePause, times: 1, calm: true},
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
