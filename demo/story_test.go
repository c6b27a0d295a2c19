// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func nothing(context.Context, *stage) error { return nil }

func TestTell_stopsAtTheFirstStepThatComesOutOtherwise(t *testing.T) {
	t.Parallel()
	failure := errors.New("the manager does not start")
	unreachable := func(context.Context, *stage) error {
		t.Error("a step after one that failed was played")
		return nil
	}
	var out bytes.Buffer
	results := tell(t.Context(), &out, nil, []chapter{
		{title: "first chapter", about: "what it is about", steps: []step{
			{does: "a step that works", do: nothing},
			{does: "a step that fails", do: func(context.Context, *stage) error { return failure }},
			{does: "the next one", do: unreachable},
		}},
		{title: "second chapter", steps: []step{{does: "the last one", do: unreachable}}},
	})
	if !strings.Contains(out.String(), "=== first chapter\n\n# what it is about\n") {
		t.Errorf("the beginning of the first chapter is missing:\n%s", &out)
	}
	if strings.Contains(out.String(), "second chapter") {
		t.Errorf("a chapter was told after a step that failed:\n%s", &out)
	}

	out.Reset()
	err := table(&out, results)
	if err == nil || !strings.Contains(err.Error(), "step 2 of 4") || !strings.Contains(err.Error(), failure.Error()) {
		t.Errorf("error = %v, want one that names the step and its error", err)
	}
	mustHaveRows(t, out.String(),
		"1 yes a step that works it works as expected",
		"2 NO a step that fails it works the manager does not start",
		"3 - the next one it works not played",
		"4 - the last one it works not played")
}

func TestTell_anInterruptIsARow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	results := tell(ctx, &out, nil, []chapter{{steps: []step{
		{does: "a step", do: func(ctx context.Context, _ *stage) error {
			cancel()
			return ctx.Err()
		}},
		{does: "another", do: nothing},
	}}})
	if err := table(&out, results); err == nil {
		t.Error("a story that was interrupted came out as expected")
	}
	mustHaveRows(t, out.String(), "1 NO a step it works interrupted", "2 - another it works not played")
}

func TestTable_ofNothingFails(t *testing.T) {
	t.Parallel()
	if err := table(&bytes.Buffer{}, nil); err == nil {
		t.Error("no error")
	}
}

// mustHaveRows looks for rows of a table, whatever space is between the cells.
func mustHaveRows(t *testing.T, table string, rows ...string) {
	t.Helper()
	plain := "\n"
	for line := range strings.Lines(table) {
		plain += strings.Join(strings.Fields(line), " ") + "\n"
	}
	for _, row := range rows {
		if !strings.Contains(plain, "\n"+row+"\n") {
			t.Errorf("there is no row %q in the table:\n%s", row, table)
		}
	}
}
