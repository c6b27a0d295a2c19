// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
)

const (
	// resamples are how often the rounds are drawn anew, and outside the part of the outcomes
	// at each end that is taken for chance.
	resamples = 2000
	outside   = 0.05
)

// noise is between which ratios that of two medians lies but for chance, which the rounds tell
// of: they are drawn again and again, with repetition (the percentile bootstrap).
func noise(measured, base []float64) (least, most float64) {
	if len(measured) == 0 || len(base) == 0 {
		return 0, 0
	}
	rng := rand.New(rand.NewPCG(1, 1)) // the same rounds have the same noise
	draw := func(from []float64) float64 {
		drawn := make([]float64, len(from))
		for i := range drawn {
			drawn[i] = from[rng.IntN(len(from))]
		}
		return median(drawn)
	}
	ratios := make([]float64, resamples)
	for i := range ratios {
		ratios[i] = draw(measured) / draw(base)
	}
	slices.Sort(ratios)
	return ratios[int(outside*resamples)], ratios[int((1-outside)*resamples)-1]
}

// ratioOf is the row of work that takes seconds, with the rounds of both.
func ratioOf(work, floor string, measured, base []float64, bound float64) row {
	r := row{work: work, floor: floor, measured: median(measured), base: median(base), unit: "s", bound: bound}
	r.least, r.most = noise(measured, base)
	return r
}
