// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui is how commands talk to people: streams that know about colour,
// tables, structured output and progress.
//
// What comes from a server cannot steer the terminal: everything but formats goes through text.Harmless here. The names of
// objects go through Name where they are put into a text.
package ui

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdfast-dev/holdfast/internal/platform/text"
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

// Name is a name that others have chosen, for a text or a command: one word in one line.
func Name(name string) string { return text.Word(name) }

// Painted is a text that is harmless but for the codes of its style.
type Painted string

// Paint gives a text for Out its style, where colour can be shown.
func (s *Streams) Paint(style Style, content string) Painted {
	content = text.Harmless(content)
	if !s.color || style == Plain || content == "" {
		return Painted(content)
	}
	return Painted("\x1b[" + string(style) + "m" + content + "\x1b[0m")
}

// Printf writes to Out. Nothing can be done about an output that is closed, and
// the same goes for the rest of this package.
func (s *Streams) Printf(format string, args ...any) { write(s.Out, sprintf(format, args)) }

// Line writes a line to Out.
func (s *Streams) Line(content string) { write(s.Out, text.Harmless(content)+"\n") }

// Notef writes a line to ErrOut: what a person should know and a script that
// reads Out should not see.
func (s *Streams) Notef(format string, args ...any) { write(s.ErrOut, sprintf(format, args)+"\n") }

// Error writes an error to ErrOut.
func (s *Streams) Error(err error) {
	s.Notef("error: %v", err)
}

// sprintf is fmt.Sprintf with arguments that are harmless.
func sprintf(format string, args []any) string {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = harmless(arg)
	}
	return fmt.Sprintf(format, safe...)
}

func harmless(arg any) any {
	switch a := arg.(type) {
	case Painted:
		return a
	case error:
		return text.Harmless(a.Error())
	case fmt.Stringer:
		return text.Harmless(a.String())
	}
	switch v := reflect.ValueOf(arg); v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return arg
	case reflect.String:
		return text.Harmless(v.String())
	}
	return text.Harmless(fmt.Sprint(arg))
}

// Continued is a text whose further lines are indented, so that none of them looks like one of the command's own.
func Continued(content, indent string) string { return strings.ReplaceAll(content, "\n", "\n"+indent) }

func write(w io.Writer, content string) {
	_, _ = io.WriteString(w, content)
}
