// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math/rand/v2"
	"time"
)

// longest is the longest pause after errors.
const longest = time.Minute

// pause is how long to wait after so many errors one after the other: twice as long each
// time, up to longest, and a little less at random, so that not all ask at once when a
// server comes back.
func pause(errors int, first time.Duration, random func() float64) time.Duration {
	p := first
	for range errors - 1 {
		if p *= 2; p >= longest {
			p = longest
			break
		}
	}
	return time.Duration(float64(min(p, longest)) * (0.8 + 0.2*random()))
}

// period is a period, a little more or less at random: the looks at a server of those
// who began together spread.
func period(p time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(p) * (0.9 + 0.2*random()))
}

func random() float64 { return rand.Float64() } //nolint:gosec // it is for spreading
