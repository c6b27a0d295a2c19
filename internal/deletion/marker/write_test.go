// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

func TestPause(t *testing.T) {
	t.Parallel()
	holds := func(text string) marks.Set {
		return marks.Set{v1alpha1.HoldsProtectedMark: {Value: v1alpha1.MarkSet, Detail: text}}
	}
	none := marks.Set{}
	for _, tt := range []struct {
		name             string
		last, have, want marks.Set
		ago, pause       time.Duration
	}{
		{name: "the first mark does not wait", have: none, want: holds("1"), ago: time.Hour},
		{name: "a mark that goes does not wait", last: holds("1"), have: holds("1"), want: none},
		{name: "its text waits", last: holds("1"), have: holds("1"), want: holds("2"), ago: calm / 4, pause: calm * 3 / 4},
		{name: "its text does not wait for ever", last: holds("1"), have: holds("1"), want: holds("2"), ago: calm},
		{name: "what somebody has just undone waits", last: holds("1"), have: none, want: holds("1"), ago: calm / 4, pause: calm * 3 / 4},
		{name: "what somebody undid long ago does not", last: holds("1"), have: none, want: holds("1"), ago: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakeClock(time.Unix(1000, 0))
			at := target{name: "x"}
			m := &Marker{o: Options{Clock: clock}, last: map[target]written{}}
			if tt.last != nil {
				m.last[at] = written{clock.Now().Add(-tt.ago), tt.last}
			}
			if got := max(0, m.pause(at, tt.have, tt.want)); got != tt.pause {
				t.Errorf("waits %s, want %s", got, tt.pause)
			}
		})
	}
}

// One object that can be marked does not hide another one that cannot.
func TestNote(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Kind: "Widget"}
	protections := selection.NewSet()
	protections.Put(&selection.Protection{Name: "p", Selectors: []selection.Selector{{Kind: kind}}})
	var changed int
	m := &Marker{
		o:        Options{Protections: protections, Changed: func(string) { changed++ }},
		unmarked: map[schema.GroupKind]map[target]string{},
	}
	a, b := target{name: "a"}, target{name: "b"}
	m.note(b, kind, errors.New("no b"))
	m.note(a, kind, errors.New("no a"))
	m.note(target{name: "c"}, kind, nil)
	if diff := cmp.Diff("the API server refuses to have objects marked: 2, the first no a", refusals(m.unmarked[kind])); diff != "" {
		t.Errorf("what is said (-want +got):\n%s", diff)
	}
	m.note(a, kind, nil)
	if changed != 1 {
		t.Errorf("told %d times, want once: that there is one, not which", changed)
	}
	m.note(b, kind, nil)
	if len(m.unmarked) != 0 || changed != 2 {
		t.Errorf("%v is left, told %d times; want nothing, and to be told", m.unmarked, changed)
	}
}
