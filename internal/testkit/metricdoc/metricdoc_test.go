// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package metricdoc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const head = "| metric | type | labels | process | meaning |\n|---|---|---|---|---|\n"
	tests := []struct {
		name, text string
		want       map[string]Metric
		wrong      bool
	}{
		{name: "no labels", text: "| `holdfast_a` | gauge | | guard, leader | it |\n", want: map[string]Metric{
			"holdfast_a": {Type: "gauge", Labels: map[string][]string{}, Processes: []string{"guard"}},
		}},
		{name: "labels with their values, and without", text: "| `hnc_a_total` | counter | `what` (`x`, `y`), `Reason` (those of it), `by` | guard, sync | it |\n", want: map[string]Metric{
			"hnc_a_total": {Type: "counter", Labels: map[string][]string{"what": {"x", "y"}, "Reason": nil, "by": nil}, Processes: []string{"guard", "sync"}},
		}},
		{name: "a link is no list of values", text: "| `holdfast_a` | gauge | `type` (those of [it](x.md#y)) | guard | it |\n", want: map[string]Metric{
			"holdfast_a": {Type: "gauge", Labels: map[string][]string{"type": nil}, Processes: []string{"guard"}},
		}},
		{name: "a row that cannot be read", text: "| `holdfast_a` | gauge |\n", wrong: true},
		{name: "the same twice", text: "| `holdfast_a` | gauge | | guard | it |\n| `holdfast_a` | gauge | | sync | it |\n", wrong: true},
		{name: "no rows", wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(head + tt.text)
			if (err != nil) != tt.wrong {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); !tt.wrong && diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	if _, err := Read(); err != nil {
		t.Error(err)
	}
}
