// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
)

func TestMeasured(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	before := now.Add(-time.Minute)
	wrong := []*knv.Error{knv.New(knv.Applier, "wrong")}
	at := func(fetched, synced string, change func(*report.Progress)) report.Facts {
		p := &report.Progress{At: report.AtSync, Fetched: report.Result{Commit: fetched}, Synced: report.Result{Commit: synced}}
		if change != nil {
			change(p)
		}
		return report.Facts{Progress: p}
	}
	tests := []struct {
		name   string
		facts  report.Facts
		former measure
		want   measure
	}{
		{name: "as its source says", facts: at("c", "c", nil), former: measure{since: before}, want: measure{standing: isSynced}},
		{name: "nothing is known yet", want: measure{standing: isSyncing, since: now}},
		{name: "another commit", facts: at("d", "c", nil), want: measure{standing: isSyncing, since: now}},
		{name: "another commit, still", facts: at("d", "c", nil), former: measure{since: before}, want: measure{standing: isSyncing, since: before}},
		{
			name: "waiting for what was applied", facts: at("c", "c", func(p *report.Progress) { p.Synced.Running = true }),
			want: measure{standing: isSyncing, since: now},
		},
		{
			name: "an object that cannot be applied", facts: at("c", "c", func(p *report.Progress) { p.Synced.Errors = wrong }), former: measure{since: before},
			want: measure{standing: isFailing, errors: 1, since: before},
		},
		{
			name: "errors everywhere", facts: at("c", "c", func(p *report.Progress) { p.Fetched.Errors, p.Rendered.Errors, p.Synced.Errors = wrong, wrong, wrong }),
			want: measure{standing: isFailing, errors: 3, since: now},
		},
		{name: "a spec that is wrong", facts: report.Facts{Stalled: &report.Stalled{}}, want: measure{standing: isStalled, errors: 1, since: now}},
		{name: "suspended: nobody wants it to be anything", facts: report.Facts{Suspended: true}, former: measure{since: before}, want: measure{standing: isSuspended}},
		{name: "being deleted", facts: report.Facts{Teardown: &report.Teardown{Errors: wrong}}, want: measure{standing: isRemoved, errors: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, measured(tt.facts, tt.former, now), cmp.AllowUnexported(measure{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
