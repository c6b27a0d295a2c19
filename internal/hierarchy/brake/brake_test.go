// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package brake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/brake"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
)

var start = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)

// A setting is a bound without further ado.
var _ = brake.Bounds(settings.Brake{})

// group is n removals, from the first number on.
func group(cause brake.Cause, first, n int) []brake.Removal {
	var out []brake.Removal
	for i := range n {
		out = append(out, brake.Removal{Copy: fmt.Sprintf("secrets team-%d/s", first+i), Cause: cause})
	}
	return out
}

func TestAsk(t *testing.T) {
	t.Parallel()
	type ask struct {
		after  time.Duration
		cause  brake.Cause
		first  int
		n      int
		copies int
		halts  bool
	}
	const other, deleted, removed, grantsMore = brake.Unexplained, brake.SourceDeleted, brake.KindRemoved, brake.Unsafe
	tests := []struct {
		name   string
		bounds brake.Bounds
		asks   []ask
	}{
		{name: "a few always go", bounds: brake.Bounds{Percent: 0, Minimum: 50}, asks: []ask{{n: 50, copies: 50}}},
		{name: "and one more does not", bounds: brake.Bounds{Percent: 0, Minimum: 50}, asks: []ask{{n: 51, copies: 51, halts: true}}},
		{name: "a small part goes, however many it is", bounds: brake.Bounds{Percent: 25, Minimum: 50}, asks: []ask{{n: 250, copies: 1000}}},
		{name: "a larger part does not", bounds: brake.Bounds{Percent: 25, Minimum: 50}, asks: []ask{{n: 251, copies: 1000, halts: true}}},
		{name: "a hundred percent never brake", bounds: brake.Bounds{Percent: 100}, asks: []ask{{n: 1000, copies: 0}}},
		{name: "nothing is allowed", bounds: brake.Bounds{}, asks: []ask{{n: 1, copies: 1000, halts: true}}},
		{name: "what somebody deleted goes", bounds: brake.Bounds{}, asks: []ask{{cause: deleted, n: 1000, copies: 1000}, {cause: removed, n: 1000, copies: 1000}}},
		{name: "so does what grants more than its source", bounds: brake.Bounds{}, asks: []ask{{cause: grantsMore, n: 1000, copies: 1000}}},
		{name: "also when it was held before", bounds: brake.Bounds{}, asks: []ask{{n: 3, copies: 9, halts: true}, {cause: grantsMore, n: 3, copies: 9}}},
		{name: "and does not count", bounds: brake.Bounds{Minimum: 5}, asks: []ask{{cause: deleted, n: 1000, copies: 1000}, {cause: other, first: 2000, n: 5, copies: 5}}},
		{
			name: "one after the other is no way around", bounds: brake.Bounds{Minimum: 2},
			asks: []ask{{first: 1, n: 1, copies: 9}, {first: 2, n: 1, copies: 8}, {first: 3, n: 1, copies: 7, halts: true}, {first: 4, n: 1, copies: 7, halts: true}},
		},
		{
			name: "the part is of all that were there before", bounds: brake.Bounds{Percent: 50},
			asks: []ask{{first: 0, n: 5, copies: 10}, {first: 5, n: 1, copies: 5, halts: true}},
		},
		{
			name: "after a while they do not count any more", bounds: brake.Bounds{Minimum: 2},
			asks: []ask{{first: 1, n: 2, copies: 9}, {after: brake.Window, first: 3, n: 2, copies: 7}},
		},
		{
			name: "but what waits goes on to wait", bounds: brake.Bounds{Minimum: 2},
			asks: []ask{
				{first: 1, n: 2, copies: 9}, {after: brake.Window - 1, first: 3, n: 1, copies: 7, halts: true},
				{after: 1, first: 3, n: 1, copies: 7, halts: true}, {after: brake.Window, first: 3, n: 1, copies: 7, halts: true},
			},
		},
		{
			name: "also where much has gone before", bounds: brake.Bounds{Percent: 50, Minimum: 50},
			asks: []ask{
				{first: 0, n: 2000, copies: 8000}, {first: 2000, n: 2500, copies: 6000, halts: true},
				{after: brake.Window, first: 2000, n: 2500, copies: 6000, halts: true}, {first: 2000, n: 1, copies: 6000, halts: true},
			},
		},
		{
			name: "and new ones in the same group wait with it", bounds: brake.Bounds{Minimum: 2},
			asks: []ask{{first: 1, n: 2, copies: 9}, {first: 3, n: 1, copies: 7, halts: true}, {after: brake.Window, first: 3, n: 2, copies: 7, halts: true}},
		},
		{
			name: "asking again counts once", bounds: brake.Bounds{Minimum: 2},
			asks: []ask{{first: 1, n: 2, copies: 9}, {first: 1, n: 2, copies: 9}, {first: 2, n: 1, copies: 9}, {first: 3, n: 1, copies: 9, halts: true}, {first: 3, n: 1, copies: 9, halts: true}},
		},
		{
			name: "what waits counts for those that come after", bounds: brake.Bounds{Minimum: 10},
			asks: []ask{{first: 0, n: 11, copies: 99, halts: true}, {first: 20, n: 1, copies: 99, halts: true}},
		},
		{
			name: "a list that came back short", bounds: brake.Bounds{Percent: 25, Minimum: 50},
			asks: []ask{{n: 600, copies: 600, halts: true}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, now := brake.New(start, time.Time{}), start
			for i, a := range tt.asks {
				now = now.Add(a.after)
				v := b.Ask(now, tt.bounds, a.copies, group(a.cause, a.first, a.n)...)
				wantGo, wantHalt := a.n, 0
				if a.halts {
					wantGo, wantHalt = 0, a.n
				}
				if len(v.Go) != wantGo || len(v.Halt) != wantHalt {
					t.Errorf("question %d: %d go and %d halt, want %d and %d", i+1, len(v.Go), len(v.Halt), wantGo, wantHalt)
				}
			}
			_, halted := b.Halted()
			if want := tt.asks[len(tt.asks)-1].halts; halted != want {
				t.Errorf("halted at the end: %t, want %t", halted, want)
			}
		})
	}
}

func TestAsk_inOneGroupWhatIsExplainedGoes(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	mixed := append(group(brake.SourceDeleted, 0, 2), group(brake.Unexplained, 10, 3)...)
	v := b.Ask(start, brake.Bounds{Minimum: 2}, 100, mixed...)
	if len(v.Go) != 2 || len(v.Halt) != 3 || v.Go[0].Cause != brake.SourceDeleted {
		t.Errorf("got %+v", v)
	}
	// What waited is explained later.
	if v := b.Ask(start, brake.Bounds{Minimum: 2}, 100, group(brake.SourceDeleted, 10, 3)...); len(v.Go) != 3 {
		t.Errorf("got %+v", v)
	}
	if h, halted := b.Halted(); halted {
		t.Errorf("still halted: %+v", h)
	}
}

// halted asks for a group that is too many and returns what people are told.
func halted(t *testing.T, b *brake.Brake, now time.Time, first, n int) brake.Halt {
	t.Helper()
	if v := b.Ask(now, brake.Bounds{Minimum: 2}, 1000, group(brake.Unexplained, first, n)...); len(v.Halt) != n {
		t.Fatalf("%d halt, want %d", len(v.Halt), n)
	}
	h, ok := b.Halted()
	if !ok {
		t.Fatal("nothing is halted")
	}
	return h
}

func goes(b *brake.Brake, now time.Time, first, n int) bool {
	return len(b.Ask(now, brake.Bounds{Minimum: 2}, 1000, group(brake.Unexplained, first, n)...).Go) == n
}

func TestConsent_isForTheseCopiesAndThisTimeAlone(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	first := halted(t, b, start, 0, 300)
	for _, word := range []string{"", "300", "true", first.Token + "x"} {
		if b.Consent(start, word) {
			t.Errorf("%q is no consent", word)
		}
	}
	grown := halted(t, b, start.Add(time.Minute), 300, 1)
	if b.Consent(start, first.Token) {
		t.Error("the word for 300 copies lets 301 go")
	}
	if goes(b, start, 0, 1) {
		t.Error("a copy goes without consent")
	}
	consented := start.Add(2 * time.Minute)
	if !b.Consent(consented, grown.Token) {
		t.Fatal("the word does not count")
	}
	if _, still := b.Halted(); still {
		t.Error("still halted")
	}
	for range 2 { // a removal may fail and come again
		if !goes(b, consented, 0, 301) {
			t.Error("what was consented to does not go")
		}
	}
	if goes(b, consented, 400, 3) {
		t.Error("others go with it")
	}
	later := consented.Add(brake.Window)
	for i := range 301 {
		b.Stay(fmt.Sprintf("secrets team-%d/s", i)) // they are gone
	}
	for i := range 3 {
		b.Stay(fmt.Sprintf("secrets team-%d/s", 400+i))
	}
	again := halted(t, b, later, 0, 301)
	if again.Token == grown.Token || b.Consent(later, grown.Token) {
		t.Error("the word of last time counts for the same copies again")
	}
}

func TestConsent_endsWithTheWindow(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	if h := halted(t, b, start, 0, 5); !b.Consent(start, h.Token) {
		t.Fatal("the word does not count")
	}
	if !goes(b, start.Add(brake.Window-1), 0, 5) {
		t.Error("they do not go before the time is over")
	}
	if goes(b, start.Add(brake.Window), 0, 5) {
		t.Error("they go when it is over")
	}
}

func TestConsent_toOneDoesNotEndAnEarlierOne(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	for first := 0; first < 20; first += 10 {
		if h := halted(t, b, start, first, 5); !b.Consent(start, h.Token) {
			t.Fatal("the word does not count")
		}
	}
	if !goes(b, start, 0, 5) || !goes(b, start, 10, 5) {
		t.Error("what was consented to does not go")
	}
}

// While somebody types the word, some copies may turn out to stay.
func TestStay_isNoReasonToAskAgain(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	before := halted(t, b, start, 0, 5)
	b.Stay("secrets team-0/s")
	b.Stay("never heard of")
	after, _ := b.Halted()
	if after.Token != before.Token || after.Held != 4 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if !b.Consent(start, before.Token) {
		t.Error("the word does not count any more")
	}
	if v := b.Ask(start, brake.Bounds{}, 1000, group(brake.Unexplained, 0, 5)...); len(v.Go) != 4 || len(v.Halt) != 1 {
		t.Errorf("%d go, though one was to stay", len(v.Go))
	}
}

func TestStay_ofAllEndsIt(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	before := halted(t, b, start, 0, 3)
	for i := range 3 {
		b.Stay(fmt.Sprintf("secrets team-%d/s", i))
	}
	if h, still := b.Halted(); still || b.Consent(start, before.Token) {
		t.Errorf("still halted: %+v", h)
	}
}

// Another process that finds the same copies asks for the same word.
func TestNew_goesOnWithTheIncidentOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	before := halted(t, brake.New(start, time.Time{}), start, 0, 5)
	next := brake.New(start.Add(time.Hour), before.Since)
	for i := 4; i > 0; i-- { // in another order, one by one, an hour later
		next.Ask(start.Add(time.Hour), brake.Bounds{}, 1000, group(brake.Unexplained, i, 1)...)
	}
	if h := halted(t, next, start.Add(time.Hour), 0, 1); h.Token != before.Token || !h.Since.Equal(start) {
		t.Errorf("before %+v, after %+v", before, h)
	}
	if !next.Consent(start.Add(time.Hour), before.Token) {
		t.Error("the word does not count")
	}
	if h := halted(t, next, start.Add(2*time.Hour), 0, 5); h.Token == before.Token {
		t.Error("the time of the earlier process counts twice")
	}
}

// What it held is held, though it would be few without what went before.
func TestNew_letsNothingGoThatAnEarlierProcessHeld(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Hour)
	b := brake.New(now, start)
	for i := range 4 { // not all at once: some are known later
		if goes(b, now, i, 1) {
			t.Errorf("copy %d goes", i)
		}
	}
	now = now.Add(brake.Window)
	if goes(b, now, 0, 4) {
		t.Error("they go after a while")
	}
	for i := range 4 {
		b.Stay(fmt.Sprintf("secrets team-%d/s", i))
	}
	if !goes(b, now, 10, 2) {
		t.Error("others wait for ever")
	}
}

func TestAgain_goesOnWithTheIncident(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	before := halted(t, b, start, 0, 5)
	now := start.Add(time.Hour)
	b.Again(now)
	if h, still := b.Halted(); still {
		t.Errorf("still halted: %+v", h)
	}
	if goes(b, now, 1, 1) {
		t.Error("one of them goes")
	}
	if h := halted(t, b, now, 0, 5); h.Token != before.Token {
		t.Errorf("before %+v, after %+v", before, h)
	}
}

func TestAsk_aHundredPercentLetGoWhatWaits(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	halted(t, b, start, 0, 5)
	if v := b.Ask(start, brake.Bounds{Percent: 100}, 1000, group(brake.Unexplained, 0, 5)...); len(v.Go) != 5 {
		t.Errorf("got %+v", v)
	}
}

func TestHalt_Message(t *testing.T) {
	t.Parallel()
	b := brake.New(start, time.Time{})
	if !goes(b, start, 90, 2) {
		t.Fatal("two may go")
	}
	h := halted(t, b, start, 0, 5)
	for _, want := range []string{
		"5 of 1000 copies", "2 have gone in the last 10 minutes", "kubectl annotate hncconfiguration config --overwrite holdfast.dev/let-copies-go=" + h.Token,
		"secrets team-0/s, secrets team-1/s, secrets team-2/s",
	} {
		if !strings.Contains(h.Message(), want) {
			t.Errorf("%q is without %q", h.Message(), want)
		}
	}
	if !strings.HasPrefix(h.Token, "5-") {
		t.Errorf("%s does not say how many", h.Token)
	}
}
