// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestBeyond_countsWhatIsMoreThanNoise(t *testing.T) {
	t.Parallel()
	even := []float64{1, 1.01, 0.99, 1, 1.02, 0.98, 1, 1, 1.01}
	times := func(factor float64, of []float64) (out []float64) {
		for _, v := range of {
			out = append(out, v*factor)
		}
		return out
	}
	for _, tt := range []struct {
		name           string
		measured, base []float64
		beyond         bool
	}{
		{"within the bound", times(1.1, even), even, false},
		{"beyond it, in even rounds", times(1.3, even), even, true},
		{"beyond it by less than the rounds differ", []float64{1, 1.9, 1.25, 1.1, 1.7, 1.25, 1.3, 1.05, 1.2}, []float64{1, 1.4, 0.9, 1, 1.2, 0.9, 1, 1.1, 1}, false},
		{"far beyond it in uneven rounds", []float64{2, 3.9, 2.5, 2.2, 3.7, 2.5, 2.6, 2.1, 2.4}, []float64{1, 1.4, 0.9, 1, 1.2, 0.9, 1, 1.1, 1}, true},
		{"one round says nothing of noise", []float64{1.3}, []float64{1}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ratioOf("work", "floor", tt.measured, tt.base, 1.2)
			if err := beyond([]row{r}); (err != nil) != tt.beyond {
				t.Errorf("%.2f (%.2f to %.2f): got %v", r.ratio(), r.least, r.most, err)
			}
			if r.least > r.ratio() || r.most < r.ratio() {
				t.Errorf("%.2f is not between %.2f and %.2f", r.ratio(), r.least, r.most)
			}
		})
	}
}

func TestRow_saysWithinWhichRatios(t *testing.T) {
	t.Parallel()
	with := ratioOf("work", "floor", []float64{1, 2, 3}, []float64{1, 2, 3}, 1.2).String()
	if !strings.Contains(with, "| 1.00 (0.33–3.00) |") {
		t.Error(with)
	}
	if without := (row{work: "work", measured: 1, base: 2, unit: "s"}).String(); !strings.Contains(without, "| 0.50 |") {
		t.Error(without)
	}
}
