// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui is how commands talk to people: streams that know about colour,
// tables, structured output and progress.
package ui

import (
	"fmt"
	"io"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// Streams are the standard streams of a command.
type Streams struct {
	genericiooptions.IOStreams

	color         bool // on Out
	errIsTerminal bool
}

// NewStreams finds out what the streams can show. Colour needs a terminal that
// is not dumb, and no NO_COLOR in the environment.
func NewStreams(streams genericiooptions.IOStreams) *Streams {
	return &Streams{
		IOStreams:     streams,
		color:         printers.AllowsColorOutput(streams.Out),
		errIsTerminal: printers.IsTerminal(streams.ErrOut),
	}
}

// Style is how a text stands out.
type Style string

// The styles are ANSI codes.
const (
	Plain Style = ""
	Bold  Style = "1"
	Good  Style = "32"
	Warn  Style = "33"
	Bad   Style = "31"
)

// Paint gives a text for Out its style, where colour can be shown.
func (s *Streams) Paint(style Style, text string) string {
	if !s.color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Printf writes to Out. Nothing can be done about an output that is closed, and
// the same goes for the rest of this package.
func (s *Streams) Printf(format string, args ...any) {
	write(s.Out, fmt.Sprintf(format, args...))
}

// Line writes a line to Out. What comes from a server cannot steer the terminal.
func (s *Streams) Line(text string) { write(s.Out, printers.EscapeTerminal(text)+"\n") }

// Notef writes a line to ErrOut: what a person should know and a script that
// reads Out should not see. What comes from a server cannot steer the terminal.
func (s *Streams) Notef(format string, args ...any) {
	write(s.ErrOut, printers.EscapeTerminal(fmt.Sprintf(format, args...))+"\n")
}

// Error writes an error to ErrOut.
func (s *Streams) Error(err error) {
	s.Notef("error: %v", err)
}

func write(w io.Writer, text string) {
	_, _ = io.WriteString(w, text)
}
