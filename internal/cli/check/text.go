// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

var (
	ranks  = map[Level]int{Problem: 0, Warning: 1, Note: 2, OK: 3}
	styles = map[Level]ui.Style{Problem: ui.Bad, Warning: ui.Warn, OK: ui.Good}
)

// show writes what was found in a cluster for people: the worst first.
func show(s *ui.Streams, c *Cluster, several bool) {
	if several {
		s.Printf("%s\n", s.Paint(ui.Bold, strings.TrimSpace(c.Context+"  "+c.Server)))
	}
	list := slices.Clone(c.Findings)
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(ranks[a.Level], ranks[b.Level]) })
	for _, f := range list {
		s.Printf("%s  %s\n", s.Paint(styles[f.Level], fmt.Sprintf("%-7s", strings.ToUpper(string(f.Level)))), oneLine(f.Message))
		if f.Remedy != "" {
			s.Printf("         do: %s\n", f.Remedy)
		}
	}
	if len(c.Features) > 0 {
		s.Printf("\n")
		features(s, c.Features)
	}
	for _, g := range c.NotLookedAt {
		s.Notef("not looked at: %s: %s", g.Part, g.Reason)
	}
	if several {
		s.Printf("\n")
	}
}

func features(s *ui.Streams, all []Feature) {
	var rows [][]ui.Cell
	for _, f := range all {
		where := fmt.Sprintf("%d of %d", f.InScope, f.InScope+f.OutOfScope)
		about := []string{"-"}
		if len(f.Counts) > 0 {
			about = nil
		}
		for _, n := range f.Counts {
			about = append(about, fmt.Sprintf("%d %s", n.Count, n.What))
		}
		rows = append(rows, []ui.Cell{ui.Text(f.Name), ui.Text(f.Mode), ui.Text(where), ui.Text(about[0])})
		for _, more := range about[1:] {
			rows = append(rows, []ui.Cell{{}, {}, {}, ui.Text(more)})
		}
	}
	s.Table([]string{"FEATURE", "MODE", "NAMESPACES", "ABOUT"}, rows)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
