// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	id := object.ID{Kind: "ConfigMap", Namespace: "a", Name: "x"}
	change := func(a preview.Action) preview.Change {
		return preview.Change{Action: a, ID: id, APIVersion: "v1", Path: "x.yaml", Reason: "why\nand more"}
	}
	tests := []struct {
		name, commit     string
		changes          []preview.Change
		notes            []string
		summary          string
		writes, failures int
	}{
		{name: "nothing", commit: c1, summary: "shop at 1111111: nothing would change"},
		{name: "a checkout", summary: "shop: nothing would change"},
		{name: "what is no change", changes: []preview.Change{change(preview.Wait), change(preview.Keep), change(preview.Conflict)}, summary: "shop: 1 keep, 1 conflict, 1 wait"},
		{name: "changes", changes: []preview.Change{change(preview.Claim), change(preview.Delete), change(preview.Update), change(preview.Update), change(preview.Create), change(preview.Release)}, summary: "shop: 1 create, 2 update, 1 delete, 1 release, 1 claim", writes: 6},
		{name: "what is not known", changes: []preview.Change{change(preview.Unknown), change(preview.Update)}, notes: []string{"n"}, summary: "shop: 1 update, 1 unknown", writes: 1, failures: 2},
		{name: "what would fail", changes: []preview.Change{change(preview.Fail)}, summary: "shop: 1 fail", failures: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &difference{name: "shop", commit: tt.commit, result: &preview.Result{Changes: tt.changes, Notes: tt.notes}}
			if diff := cmp.Diff(tt.summary, d.summary()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if d.result.Writes() != tt.writes || d.result.Failures() != tt.failures {
				t.Errorf("got %d writes and %d failures, want %d and %d", d.result.Writes(), d.result.Failures(), tt.writes, tt.failures)
			}
			if items := d.encoded().Items; items == nil || len(items) != len(tt.changes) {
				t.Errorf("encoded: %+v", items)
			}
		})
	}
	one := change(preview.Update)
	if diff := cmp.Diff("update ConfigMap a/x [x.yaml]: why", headOf(&one)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
