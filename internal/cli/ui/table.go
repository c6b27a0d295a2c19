// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/printers"
)

// columnGap is the space between two columns, as wide as kubectl's.
const columnGap = 3

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Text is a cell without a style.
func Text(text string) Cell { return Cell{Text: text} }

// Table writes columns that line up, with no space at the end of a line.
func (s *Streams) Table(header []string, rows [][]Cell) {
	lines := make([][]Cell, 0, len(rows)+1)
	head := make([]Cell, 0, len(header))
	for _, title := range header {
		head = append(head, Text(title))
	}
	lines = append(append(lines, head), rows...)

	widths := make([]int, len(header))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			text := printers.EscapeTerminal(cell.Text)
			b.WriteString(s.Paint(cell.Style, text))
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+columnGap))
			}
		}
		b.WriteByte('\n')
	}
	write(s.Out, b.String())
}
