// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// patience bounds how long a step may take to come out as expected; the API
// server takes up a changed policy a moment later, and a drain waits for pods.
const patience = 3 * time.Minute

// chapter is a part of the story.
type chapter struct {
	title string
	// about is said before the first step.
	about string
	steps []step
}

// step is one thing that happens: a kubectl command, or something done to the
// stage.
type step struct {
	// why is said before it happens.
	why string
	// kubectl are the arguments of a command.
	kubectl []string
	// stdin of the command.
	stdin string
	// do happens instead of a command; does says what it is.
	does string
	do   func(ctx context.Context, s *stage) error

	// refused expects the command to fail.
	refused bool
	// says is what the command's output must contain.
	says string
	// soon lets the command be tried again until it comes out as expected.
	soon bool
}

func (st step) title() string {
	if st.do != nil {
		return st.does
	}
	return "kubectl " + quoted(st.kubectl)
}

// result is one line of the table at the end.
type result struct {
	title, expected, got string
	outcome              outcome
}

// outcome is how a step came out.
type outcome string

const (
	asExpected outcome = "yes"
	otherwise  outcome = "NO"
	notPlayed  outcome = "-"
)

// tell plays the chapters and prints them as they happen, up to the first step
// that comes out otherwise than expected: what follows builds on it.
func tell(ctx context.Context, out io.Writer, s *stage, chapters []chapter) []result {
	var results []result
	playing := true
	for _, c := range chapters {
		if playing {
			fmt.Fprintf(out, "\n=== %s\n", c.title)
			if c.about != "" {
				fmt.Fprintf(out, "\n# %s\n", c.about)
			}
		}
		for _, st := range c.steps {
			r := result{title: st.title(), expected: st.expectation(), got: "not played", outcome: notPlayed}
			if playing {
				r.got, r.outcome = st.play(ctx, out, s)
				playing = r.outcome == asExpected
			}
			results = append(results, r)
		}
	}
	return results
}

// play lets the step happen and returns what came back.
func (st step) play(ctx context.Context, out io.Writer, s *stage) (got string, came outcome) {
	if st.why != "" {
		fmt.Fprintf(out, "\n# %s\n", st.why)
	}
	var ok bool
	var err error
	if st.do != nil {
		fmt.Fprintf(out, "  (%s)\n", st.does)
		err = st.do(ctx, s)
		ok = err == nil
	} else {
		fmt.Fprintf(out, "$ %s\n", st.title())
		got, ok, err = st.try(ctx, s)
		fmt.Fprintln(out, indent(got))
	}
	came = asExpected
	switch {
	case ok:
		got = "as expected"
	case ctx.Err() != nil:
		got, came = "interrupted", otherwise
	case err != nil:
		fmt.Fprintln(out, indent(err.Error()))
		got, came = err.Error(), otherwise
	default:
		came = otherwise
	}
	fmt.Fprintf(out, "  expected: %s -> %s\n", st.expectation(), came)
	return got, came
}

// try runs the command until it comes out as expected or patience ends.
func (st step) try(ctx context.Context, s *stage) (said string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var code int
		if said, code, err = s.kubectl(ctx, st.stdin, st.kubectl...); err != nil {
			return said, false, err
		}
		// A command that was killed has a negative code, and said nothing of worth.
		ok = code >= 0 && (code != 0) == st.refused && strings.Contains(said, st.says)
		if ok || !st.soon {
			return said, ok, nil
		}
		select {
		case <-ctx.Done():
			return said, false, nil
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (st step) expectation() string {
	if st.do != nil {
		return "it works"
	}
	expected := "it works"
	if st.refused {
		expected = "it is refused"
	}
	if st.says != "" {
		expected += fmt.Sprintf(" and says %q", st.says)
	}
	return expected
}

// table prints what was expected and what came back, and fails if they differ.
func table(out io.Writer, results []result) error {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "#\tOK\tSTEP\tEXPECTED\tCAME BACK")
	count := map[outcome]int{}
	failed := 0 // the number of the step that ended the story
	for i, r := range results {
		count[r.outcome]++
		if r.outcome == otherwise {
			failed = i + 1
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", i+1, r.outcome, cut(r.title, 70), cut(r.expected, 60), cut(r.got, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return fmt.Errorf("step %d of %d came out otherwise than expected, and %d after it were not played: %s: %s",
			failed, len(results), count[notPlayed], results[failed-1].title, results[failed-1].got)
	case count[asExpected] == 0:
		return errors.New("no step was played")
	}
	fmt.Fprintf(out, "\nAll %d steps came out as expected.\n", len(results))
	return nil
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

func cut(s string, n int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// quoted writes arguments so that a shell would read them back.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if strings.ContainsAny(a, " \"'{}[]$&|;<>*?!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}
