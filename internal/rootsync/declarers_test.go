// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestDeclarers_theOldestHasIt(t *testing.T) {
	t.Parallel()
	var (
		epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		x     = object.ID{Kind: "ConfigMap", Namespace: "a", Name: "x"}
		y     = object.ID{Kind: "Secret", Namespace: "a", Name: "y"}
		ages  = map[object.Sync]time.Time{"old": epoch, "mid": epoch.Add(time.Hour), "new": epoch.Add(time.Hour)}
	)
	for _, order := range [][]object.Sync{{"old", "mid", "new"}, {"new", "mid", "old"}, {"mid", "old", "new"}} {
		d := newDeclarers()
		var told map[object.Sync][]object.ID
		for _, s := range order {
			told = d.set(s, ages[s], sets.New(x))
		}
		if diff := cmp.Diff(2, len(told)); diff != "" {
			t.Errorf("who hears of the last: %v", told)
		}
		if diff := cmp.Diff([]object.Sync{"old", "mid", "new"}, d.list(x)); diff != "" {
			t.Errorf("%v: %s", order, diff)
		}
		if diff := cmp.Diff(map[object.Sync][]object.ID{"mid": {x}, "new": {x}}, d.set("old", ages["old"], sets.New(y))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]object.Sync{"mid", "new"}, d.list(x)); diff != "" {
			t.Errorf("%v, then: %s", order, diff)
		}
		if diff := cmp.Diff([]object.ID{y}, d.having("old", func(id object.ID) bool { return id.Kind == "Secret" })); diff != "" {
			t.Error(diff)
		}
		for _, s := range order {
			d.set(s, time.Time{}, nil)
		}
		if len(d.list(x)) > 0 || len(d.list(y)) > 0 || len(d.of)+len(d.has)+len(d.since) > 0 {
			t.Errorf("%v: something is left: %v", order, d.of)
		}
	}
}

func TestDeclarers_whatCouldNotGo(t *testing.T) {
	t.Parallel()
	widget := object.ID{Group: "example.com", Kind: "Widget", Name: "w"}
	all := func(object.ID) bool { return true }
	d := newDeclarers()
	d.keep("a", []object.ID{widget})
	if diff := cmp.Diff([]object.ID{widget}, d.having("a", all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]object.Sync{"a"}, d.syncs()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sets.New(widget.GroupKind()), d.keep("a", nil)); diff != "" {
		t.Error(diff)
	}
	if len(d.keeps)+len(d.keepsKinds) > 0 || len(d.having("a", all)) > 0 {
		t.Errorf("something is left: %v", d.keeps)
	}
}
