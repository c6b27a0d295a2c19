// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		if got := d.owner(x); got != "old" {
			t.Errorf("%v: %s has it", order, got)
		}
		if diff := cmp.Diff(map[object.Sync][]object.ID{"mid": {x}, "new": {x}}, d.set("old", ages["old"], sets.New(y))); diff != "" {
			t.Error(diff)
		}
		if got := d.owner(x); got != "mid" {
			t.Errorf("%v: then %s has it", order, got)
		}
		if diff := cmp.Diff([]object.Sync{"old"}, d.users(schema.GroupKind{Kind: "Secret"}, "new")); diff != "" {
			t.Error(diff)
		}
		for _, s := range order {
			d.set(s, time.Time{}, nil)
		}
		if d.owner(x) != "" || d.owner(y) != "" || len(d.of)+len(d.has)+len(d.since) > 0 {
			t.Errorf("%v: something is left: %v", order, d.of)
		}
	}
}

func TestDeclarers_whatCouldNotGo(t *testing.T) {
	t.Parallel()
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	d := newDeclarers()
	d.keep("a", sets.New(widget))
	if diff := cmp.Diff([]object.Sync{"a"}, d.users(widget, "b")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]object.Sync{}, d.users(widget, "a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sets.New(widget), d.keep("a", nil)); diff != "" {
		t.Error(diff)
	}
	if len(d.keeps) > 0 || len(d.users(widget, "b")) > 0 {
		t.Errorf("something is left: %v", d.keeps)
	}
}
