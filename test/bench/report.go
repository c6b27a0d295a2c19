// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one figure.
type row struct {
	work  string
	floor string // what the floor is; empty for a row without one
	// measured and base are in unit; a row without a floor has base 0.
	measured, base float64
	unit           string
	// least and most are between what the ratio lies but for chance; 0 where that is not known.
	least, most float64
	// bound is the ratio that may not be exceeded but by chance; 0 where it is for the record.
	bound float64
	// limit is the measured value that may not be exceeded, if there is one.
	limit *float64
}

// section is what one measurement found.
type section struct {
	title string
	rows  []row
}

func (r row) ratio() float64 { return r.measured / r.base }

// beyond fails for every row that is beyond its bound.
func beyond(rows []row) error {
	var errs []error
	for _, r := range rows {
		if least := cmp.Or(r.least, r.ratio()); r.bound > 0 && least > r.bound {
			errs = append(errs, fmt.Errorf("%s: %.2f × the floor, at least %.2f, and the bound is %.2f ×", r.work, r.ratio(), least, r.bound))
		}
		if r.limit != nil && r.measured > *r.limit {
			errs = append(errs, fmt.Errorf("%s: %s, and the bound is %s", r.work, r.amount(r.measured), r.amount(*r.limit)))
		}
	}
	return errors.Join(errs...)
}

const preamble = `# What Holdfast costs

Measured by ` + "`make bench`" + `, which writes this page. The floor of a row is the same work without Holdfast, by the same client
against the same API server in the same run, unless the row says something else; the rounds of both take turns. Times of
requests are medians over the rounds of the median of one request. The ratio is what matters where there is one; in
brackets is where it lies in nine of ten draws of the same rounds, with repetition. The bench fails where it is beyond the bound, or
where there are brackets, if all that is in them is. A bound without a ratio is one of the figure itself.
`

// heading begins a section of the page.
const heading = "## "

// render returns each section as text that begins with its heading.
func render(sections []section, machine string) []string {
	out := make([]string, 0, len(sections))
	for _, s := range sections {
		var b strings.Builder
		fmt.Fprintf(&b, "%s%s\n\n%s\n| work | floor | measured | at the floor | ratio | bound |\n|---|---|---|---|---|---|\n", heading, s.title, machine)
		for _, r := range s.rows {
			b.WriteString(r.String())
		}
		out = append(out, b.String())
	}
	return out
}

// page is what is measured now in place of what an earlier page has of the same
// titles, in the order of the measurements.
func page(before string, now []string) string {
	known := map[string]string{}
	for _, text := range append(strings.SplitAfter(strings.ReplaceAll(before, "\n"+heading, "\n\x00"+heading), "\x00"), now...) {
		text = strings.TrimSuffix(text, "\x00")
		if title, _, ok := strings.Cut(strings.TrimPrefix(text, heading), "\n"); ok && strings.HasPrefix(text, heading) {
			known[title] = strings.TrimSpace(text) + "\n"
		}
	}
	out := []string{preamble}
	for _, m := range measurements {
		if text := known[m.title]; text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// String is the row as a line of a table.
func (r row) String() string {
	floor, base, ratio, bound := "–", "–", "–", "–"
	if r.floor != "" {
		floor = r.floor
	}
	if r.base > 0 {
		base, ratio = r.amount(r.base), fmt.Sprintf("%.2f", r.ratio())
	}
	if r.most > 0 {
		ratio += fmt.Sprintf(" (%.2f–%.2f)", r.least, r.most)
	}
	switch {
	case r.bound > 0:
		bound = fmt.Sprintf("%.2f ×", r.bound)
	case r.limit != nil:
		bound = strings.TrimSpace(fmt.Sprintf("%g %s", *r.limit, r.unit))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", r.work, floor, r.amount(r.measured), base, ratio, bound)
}

// amount is a figure with its unit; without a unit it is a number of things.
func (r row) amount(v float64) string {
	if r.unit == "" && v == math.Trunc(v) {
		return number(int(v))
	}
	return strings.TrimSpace(fmt.Sprintf("%.2f %s", v, r.unit))
}

// number is a number as people write it: 10,000.
func number(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), n%1000)
}

// count is so many of something.
func count(n int, what string) string {
	if n == 0 {
		return "no " + what
	}
	return number(n) + " " + what + "s"
}

// machine says what the figures were measured on.
func machine(version string) string {
	return fmt.Sprintf("On %s, %d cores, %s, Kubernetes %s, %s.\n", processor(), runtime.NumCPU(), runtime.Version(), version, time.Now().UTC().Format("2006-01-02"))
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
