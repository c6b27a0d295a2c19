// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	t.Parallel()
	most, least := func() float64 { return 1 }, func() float64 { return 0 }
	for errors, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 8: time.Minute, 1 << 20: time.Minute} {
		if got := pause(errors, time.Second, most); got != want {
			t.Errorf("after %d errors: got %s, want %s", errors, got, want)
		}
		if got := pause(errors, time.Second, least); got != want*4/5 {
			t.Errorf("after %d errors, at least: got %s, want %s", errors, got, want*4/5)
		}
	}
}
