// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// FuzzReport reports facts that follow each other, and looks after each whether the
// same facts have nothing to add later.
func FuzzReport(f *testing.F) {
	f.Add([]byte("01234567"))
	f.Add([]byte("\x00\xff\x07\x13\x21\x08\x40\x80\x99\xaa\x31\x5f\x00\x01\x02\x03\x04\x05\x06"))
	f.Fuzz(func(t *testing.T, script []byte) {
		d := dice(script)
		var s configsyncv1beta1.RootSyncStatus
		for step := 0; len(d) > 0; step++ {
			facts := d.facts()
			before := s.DeepCopy()
			next := Report(facts, s, minute(step))
			if diff := cmp.Diff(*before, s); diff != "" {
				t.Fatalf("the former status has changed:\n%s", diff)
			}
			s = throughAPI(t, next)
			if diff := cmp.Diff(s, Report(facts, s, minute(step+1)), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v: later there is more to write:\n%s", facts, diff)
			}
			checkConditions(t, s)
		}
	})
}

// throughAPI is what is read of what was written.
func throughAPI(t *testing.T, s configsyncv1beta1.RootSyncStatus) (out configsyncv1beta1.RootSyncStatus) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func checkConditions(t *testing.T, s configsyncv1beta1.RootSyncStatus) {
	t.Helper()
	c := conditions{list: s.Conditions}
	seen := map[configsyncv1beta1.ConditionType]bool{}
	for _, have := range s.Conditions {
		if seen[have.Type] {
			t.Errorf("there are two conditions %s", have.Type)
		}
		seen[have.Type] = true
		if have.LastUpdateTime.Before(&have.LastTransitionTime) {
			t.Errorf("%s has changed after its last update", have.Type)
		}
	}
	if working := c.isTrue(configsyncv1beta1.ConditionReconciling) || c.isTrue(configsyncv1beta1.ConditionStalled); working && seen[configsyncv1beta1.ConditionSyncing] {
		t.Error("it syncs while it is set up, torn down or stalled")
	}
	for name, part := range map[string]configsyncv1beta1.StageStatus{
		"source": s.Source.StageStatus, "rendering": s.Rendering.StageStatus, "sync": s.Sync.StageStatus,
	} {
		if e := part.ErrorSummary; e != nil && (e.ErrorCountAfterTruncation != len(part.Errors) || e.Truncated != (len(part.Errors) < e.TotalCount)) {
			t.Errorf("%s counts %+v and has %d", name, *e, len(part.Errors))
		}
	}
}

// dice make facts of bytes.
type dice []byte

func (d *dice) roll(sides int) int {
	if len(*d) == 0 {
		return 0
	}
	n := int((*d)[0]) % sides
	*d = (*d)[1:]
	return n
}

func (d *dice) facts() Facts {
	f := Facts{Sync: "a", Generation: int64(d.roll(3)), Suspended: d.roll(8) == 1, Share: d.roll(5)}
	switch d.roll(6) {
	case 0:
		f.Setup = "something is made"
	case 1:
		f.Teardown = &Teardown{Errors: d.errors()}
	}
	if d.roll(4) == 1 {
		f.Stalled = &Stalled{Reason: configsyncv1beta1.ReasonValidation, Err: knv.New(knv.InvalidSync, "%d", d.roll(3))}
	}
	if d.roll(4) != 1 {
		f.Progress = &Progress{
			At: Stage(d.roll(3)), Fetched: d.result(), Rendered: d.result(), Synced: d.result(), Plain: d.roll(2) == 0,
			Missing: strings.Split("a b c", " ")[:d.roll(4)],
		}
	}
	f.Contested = []map[string][]object.Sync{nil, {}, {"n": {"b"}}, {"n": {"b", "c"}, "m": {"b"}}}[d.roll(4)]
	return f
}

func (d *dice) result() Result {
	return Result{
		Source: []spec.Source{{}, git, {Type: "oci", Address: "i", Dir: "."}}[d.roll(3)],
		Commit: []string{"", "c1", "c2"}[d.roll(3)], Running: d.roll(3) == 0, Errors: d.errors(),
	}
}

func (d *dice) errors() []*knv.Error {
	var out []*knv.Error
	for range d.roll(5) {
		out = append(out, failed(string(rune('a'+d.roll(4)))))
	}
	return out
}
