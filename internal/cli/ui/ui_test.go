// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		color bool
		want  string
	}{
		{"plain", false, "NAME     EFFECT\na        good\nümlaut   b^[d\nn\\nl     \\u202e\\x9b\n"},
		{"in colour", true, "NAME     EFFECT\na        \x1b[32mgood\x1b[0m\nümlaut   b^[d\nn\\nl     \\u202e\\x9b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			s := NewStreams(streams)
			s.color = tt.color
			s.Table([]string{"NAME", "EFFECT"}, [][]Cell{
				{Text("a"), {Text: "good", Style: Good}},
				{Text("ümlaut"), {Text: "b\x1bd", Style: Plain}},
				{Text("n\nl"), {Text: "\u202e\x9b", Style: Plain}},
			})
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	c := NewStreams(streams).Columns([]string{"NAME", "STATE"})
	for _, name := range []string{"a", "", "longer", "b"} {
		if name == "" {
			c.Print(nil)
			continue
		}
		c.Print([][]Cell{{Text(name), Text("on")}})
	}
	const want = "NAME   STATE\na      on\nlonger   on\nb        on\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStreams_noTerminal(t *testing.T) {
	t.Parallel()
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	s := NewStreams(streams)
	if got := s.Paint(Bad, "text"); got != "text" {
		t.Errorf("got %q: colour without a terminal", got)
	}
	p := s.StartProgress("work", 2)
	p.Step()
	p.End()
	if errOut.Len() > 0 {
		t.Errorf("progress without a terminal: %q", errOut)
	}
	s.Notef("a server said %s", "\x1b[31mred")
	if diff := cmp.Diff("a server said ^[[31mred\n", errOut.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What a text says cannot steer the terminal, in whatever way it comes to be printed. Only styles do.
func TestPrintf_isHarmless(t *testing.T) {
	t.Parallel()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	s := NewStreams(streams)
	s.color = true
	type word string
	s.Printf("%s %v %d %s %s %v\n", "\x1b[1ma", errors.New("\x1b[1mb"), 3, word("\x1b[1mc"), s.Paint(Bad, "\x1b[1md"), []string{"\x1b[1me"})
	s.Line("\x1b[1mf")
	if diff := cmp.Diff("^[[1ma ^[[1mb 3 ^[[1mc \x1b[31m^[[1md\x1b[0m [^[[1me]\n^[[1mf\n", out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProgress_ends(t *testing.T) {
	t.Parallel()
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	s := NewStreams(streams)
	s.errIsTerminal = true
	p := s.StartProgress("work", 1)
	p.Step()
	p.End()
	if errOut.Len() > 0 {
		t.Errorf("short work was shown: %q", errOut)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a": []int{1}}
	for format, want := range map[string]string{
		JSON: "{\n    \"a\": [\n        1\n    ]\n}\n",
		YAML: "a:\n- 1\n",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		if err := NewStreams(streams).Encode(format, value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	if err := NewStreams(streams).Encode("xml", value); err == nil {
		t.Error("an unknown format was taken")
	}
}
