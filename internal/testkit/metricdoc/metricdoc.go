// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metricdoc reads the table of metrics in the documentation, so that what is
// served, alerted on and drawn can be held against it.
package metricdoc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

// Page is where the table is, below the root of the repository.
const Page = "docs/reference/metrics.md"

// Metric is a row of the table.
type Metric struct {
	// Type is counter, gauge or histogram.
	Type string
	// Labels are the values of each label; none are listed where there is no list.
	Labels map[string][]string
	// Processes are those that serve it.
	Processes []string
}

// Has says whether a label has a value, as far as its values are listed.
func (m Metric) Has(label, value string) bool {
	values, known := m.Labels[label]
	return known && (len(values) == 0 || slices.Contains(values, value))
}

var (
	row    = regexp.MustCompile("(?m)^\\| `((?:holdfast|hnc)_[a-z_]+)` \\| ([a-z]+) \\|(.*?)\\| ([a-z, ]+) \\| .+ \\|$")
	label  = regexp.MustCompile("`([A-Za-z_]+)`(?: \\(([^()]*(?:\\([^()]*\\)[^()]*)*)\\))?")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// Read reads the table by the names of its metrics.
func Read() (map[string]Metric, error) {
	root, err := nested.Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, Page))
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}

func parse(text string) (map[string]Metric, error) {
	out := map[string]Metric{}
	for _, r := range row.FindAllStringSubmatch(text, -1) {
		m := Metric{Type: r[2], Labels: map[string][]string{}}
		for _, l := range label.FindAllStringSubmatch(r[3], -1) {
			var values []string
			for _, v := range quoted.FindAllStringSubmatch(l[2], -1) {
				values = append(values, v[1])
			}
			m.Labels[l[1]] = values
		}
		for p := range strings.SplitSeq(r[4], ",") {
			if p = strings.TrimSpace(p); p != "leader" {
				m.Processes = append(m.Processes, p)
			}
		}
		if _, twice := out[r[1]]; twice {
			return nil, fmt.Errorf("%s has two rows", r[1])
		}
		out[r[1]] = m
	}
	if all := strings.Count(text, "\n| `holdfast_") + strings.Count(text, "\n| `hnc_"); len(out) != all || all == 0 {
		return nil, fmt.Errorf("%d rows are about metrics, and %d can be read", all, len(out))
	}
	return out, nil
}
