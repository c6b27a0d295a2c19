// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func (c *clients) printForecast(output string, f drainForecast) error {
	if output != "" {
		return c.Encode(output, f)
	}
	if len(f.Items) == 0 {
		c.Printf("There are no pods on node %s.\n", f.Node)
		c.bullets("note", f.Notes)
		return nil
	}
	lines := make([][]ui.Cell, 0, len(f.Items))
	for _, r := range f.Items {
		lines = append(lines, []ui.Cell{
			ui.Text(r.Namespace), ui.Text(r.Name), ui.Text(holderText(r)), ui.Text(orNone(r.Until)),
			{Text: rowDrainText(r), Style: drainStyle(r.Drain)},
		})
	}
	c.Table([]string{"NAMESPACE", "POD", "HELD-BY", "UNTIL", "DRAIN"}, lines)
	c.Printf("\n%s\n", f.Summary)
	c.bullets("note", f.Notes)
	return nil
}

func holderText(r drainRow) string {
	if r.Drain == drainSkips || r.By.Kind == "" {
		return orNone("")
	}
	return r.By.String()
}

func rowDrainText(r drainRow) string {
	text := drainText(r.Drain, r.Code)
	if r.Skipped != "" {
		text += ": " + r.Skipped
	}
	if r.NeedsForce {
		text += ", with --force"
	}
	return text
}

func drainStyle(d drainAction) ui.Style {
	switch d {
	case drainEvicts:
		return ui.Good
	case drainWaits:
		return ui.Warn
	case drainFails, drainGone:
		return ui.Bad
	}
	return ui.Plain
}

// String says how the drain would go.
func (s drainSummary) String() string {
	parts := []string{fmt.Sprintf("%s at once", verb(s.Evicts, "goes", "go"))}
	for _, p := range []struct {
		count     int
		one, many string
	}{
		{s.Waits, "waits", "wait"},
		{s.Fails, "makes kubectl drain fail", "make kubectl drain fail"},
		{s.TakesAsGone, "is taken as gone and stays", "are taken as gone and stay"},
		{s.Skips, "is skipped", "are skipped"},
	} {
		if p.count > 0 {
			parts = append(parts, verb(p.count, p.one, p.many))
		}
	}
	text := fmt.Sprintf("%s: %s.", verb(s.Pods, "pod", "pods"), strings.Join(parts, ", "))
	if s.NeedForce > 0 {
		text += fmt.Sprintf("\nkubectl drain does not begin without --force: no controller manages %d of them.", s.NeedForce)
	}
	return text
}

func verb(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}
