// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// columnGap is the space between two columns, as wide as kubectl's.
const columnGap = 3

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Text is a cell without a style.
func Text(content string) Cell { return Cell{Text: content} }

// Table writes columns that line up, with no space at the end of a line.
func (s *Streams) Table(header []string, rows [][]Cell) { s.Columns(header).Print(rows) }

// Columns is a table whose rows come one after the other. Columns grow, and do not shrink.
type Columns struct {
	streams *Streams
	header  []Cell
	widths  []int
}

// Columns begins a table. Its header is written with the first rows.
func (s *Streams) Columns(header []string) *Columns {
	c := &Columns{streams: s, widths: make([]int, len(header))}
	for _, title := range header {
		c.header = append(c.header, Text(title))
	}
	return c
}

// Print writes rows, of which there may be none.
func (c *Columns) Print(rows [][]Cell) {
	if c.header != nil {
		rows = append([][]Cell{c.header}, rows...)
		c.header = nil
	}
	for _, line := range rows {
		for i := range line {
			line[i].Text = strings.ReplaceAll(text.Harmless(line[i].Text), "\n", `\n`) // a cell is in one line
			c.widths[i] = max(c.widths[i], utf8.RuneCountInString(line[i].Text))
		}
	}
	var b strings.Builder
	for _, line := range rows {
		for i, cell := range line {
			b.WriteString(string(c.streams.Paint(cell.Style, cell.Text)))
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", c.widths[i]-utf8.RuneCountInString(cell.Text)+columnGap))
			}
		}
		b.WriteByte('\n')
	}
	write(c.streams.Out, b.String())
}
