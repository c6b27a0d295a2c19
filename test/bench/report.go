// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one figure.
type row struct {
	work  string
	floor string // what the floor is
	// measured and base are in unit; a row without a floor has base 0.
	measured, base float64
	unit           string
	// bound is the ratio, or without a floor the measured value, that may not be
	// exceeded; 0 where the figure is for the record.
	bound float64
}

func (r row) value() float64 {
	if r.base == 0 {
		return r.measured
	}
	return r.measured / r.base
}

// beyond fails for every row that is beyond its bound.
func beyond(rows []row) error {
	var errs []error
	for _, r := range rows {
		if r.bound > 0 && r.value() > r.bound {
			errs = append(errs, fmt.Errorf("%s: %.2f, and the bound is %.2f", r.work, r.value(), r.bound))
		}
	}
	return errors.Join(errs...)
}

const preamble = `# What Holdfast costs

Measured by ` + "`make bench`" + `, which writes this page. The floor of a row is the same work without Holdfast, by the same client
against the same API server in the same run; the rounds of both take turns. Times are medians over the rounds of the
median of one request. The ratio is what matters; the bound is what the bench fails beyond, with room for noise.

`

func render(rows []row, machine string) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString(machine)
	b.WriteString("\n| work | floor | measured | at the floor | ratio | bound |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		base, ratio, bound := "–", "–", "–"
		if r.base > 0 {
			base, ratio = fmt.Sprintf("%.2f %s", r.base, r.unit), fmt.Sprintf("%.2f", r.value())
		}
		if r.bound > 0 {
			bound = fmt.Sprintf("%.2f", r.bound)
			if r.base == 0 {
				bound = fmt.Sprintf("%.0f %s", r.bound, r.unit)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f %s | %s | %s | %s |\n", r.work, r.floor, r.measured, r.unit, base, ratio, bound)
	}
	return b.String()
}

// machine says what the figures were measured on.
func machine(s *subject) string {
	return fmt.Sprintf("On %s, %d cores, %s, Kubernetes %s, %s.\n", processor(), runtime.NumCPU(), runtime.Version(), s.Version, time.Now().UTC().Format("2006-01-02"))
}

// processor is the model name that Linux knows, or the architecture.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
