// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s":      0,
		"10s":     10 * time.Second,
		"1m":      time.Minute,
		"10m":     10 * time.Minute,
		"1m30s":   90 * time.Second,
		"1h":      time.Hour,
		"10h":     10 * time.Hour,
		"1h30m":   90 * time.Minute,
		"1h0m30s": time.Hour + 30*time.Second,
		"-1h":     -time.Hour,
		"1.5s":    1500 * time.Millisecond,
	} {
		got := Duration(d)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if again, err := time.ParseDuration(got); err != nil || again != d {
			t.Errorf("%s is read as %s, %v", got, again, err)
		}
	}
}
