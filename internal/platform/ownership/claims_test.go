// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// day is a day of November 2026.
func day(n int) time.Time { return time.Date(2026, time.November, n, 0, 0, 0, 0, time.UTC) }

func TestParse(t *testing.T) {
	t.Parallel()
	const a, b = "declared rootsync/team/a 2026-11-01T00:00:00Z", "subnamespace anchor/acme -"
	tests := []struct{ name, text, wrong string }{
		{name: "nothing is no claim"},
		{name: "one claim", text: a},
		{name: "a claim whose time is not known", text: b},
		{name: "two, in the order of who claims", text: b + ", " + a},
		{name: "a namespace that was found", text: "found, " + a},
		{name: "a way of claiming that this version does not know", text: "leased desk/42/x 2026-11-01T00:00:00Z"},
		{name: "escaped names", text: "foreign configsync/%3Aroot~ -"},
		{name: "another order", text: a + ", " + b, wrong: "order"},
		{name: "two claims of one", text: a + ", " + a, wrong: "order"},
		{name: "found without a claim", text: "found", wrong: "without a claim"},
		{name: "found twice", text: "found, found, " + a, wrong: "three words"},
		{name: "found behind a claim", text: a + ", found", wrong: "three words"},
		{name: "no time", text: "declared rootsync/team/a", wrong: "three words"},
		{name: "a word too many", text: a + " x", wrong: "three words"},
		{name: "two blanks", text: "declared  rootsync/team/a -", wrong: "three words"},
		{name: "a comma without a blank", text: b + "," + a, wrong: "three words"},
		{name: "a comma at the end", text: a + ", ", wrong: "three words"},
		{name: "a blank", text: " ", wrong: "three words"},
		{name: "a blank in front", text: " " + a, wrong: "three words"},
		{name: "lines", text: b + ",\n" + a, wrong: "three words"},
		{name: "a way in capitals", text: "Declared rootsync/team/a -", wrong: "no way to claim"},
		{name: "found as a way", text: "found rootsync/team/a -", wrong: "no way to claim"},
		{name: "nobody in particular", text: "declared rootsync -", wrong: "not the name of a claimant"},
		{name: "an empty part", text: "declared rootsync//a -", wrong: "not the name of a claimant"},
		{name: "another time zone", text: "declared rootsync/team/a 2026-11-01T01:00:00+01:00", wrong: "UTC"},
		{name: "parts of a second", text: "declared rootsync/team/a 2026-11-01T00:00:00.5Z", wrong: "whole seconds"},
		{name: "a time that is none", text: "declared rootsync/team/a yesterday", wrong: "no time"},
		{name: "the time that stands for none", text: "declared rootsync/team/a 0001-01-01T00:00:00Z", wrong: "no time"},
		{name: "JSON", text: `{"claims":[]}`, wrong: "three words"},
		{name: "more than an annotation should have", text: strings.Repeat(a+", ", 3000) + a, wrong: "bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ownership.Parse(tt.text)
			if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Fatalf("got the error %v, want one with %q", err, tt.wrong)
			}
			if diff := cmp.Diff(tt.text, got.String()); err == nil && diff != "" {
				t.Errorf("written back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaims_areASet(t *testing.T) {
	t.Parallel()
	a := ownership.At(ownership.Declared, ownership.RootSync("team", "a"), day(2).In(time.FixedZone("", 3600)).Add(time.Millisecond))
	b := ownership.At(ownership.Implicit, ownership.RootSync("team", "b"), day(1))
	both := ownership.New(a, b)
	const want = "declared rootsync/team/a 2026-11-02T00:00:00Z, implicit rootsync/team/b 2026-11-01T00:00:00Z"
	for name, got := range map[string]string{
		"made":                        both.String(),
		"in another order":            ownership.New(b, a).String(),
		"with one again":              both.With(a).String(),
		"without somebody who is not": both.Without("anchor/x").String(),
		"taken and given back":        both.Without(a.Claimant).With(a).String(),
		"changed and changed back":    both.With(ownership.Claim{How: ownership.Implicit, Claimant: a.Claimant}).With(a).String(),
	} {
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := both.Without(a.Claimant).Without(b.Claimant).String(); got != "" {
		t.Errorf("without all: got %q", got)
	}
	if got := len(both.All()); got != 2 {
		t.Errorf("taking from a copy took from the original: %d are left", got)
	}
	if got, ok := both.Of(b.Claimant); !ok || got != b {
		t.Errorf("got %v, want %v", got, b)
	}
}

// What comes out of a Namespace must be one that can be written, whatever people
// wrote there.
func TestClaimants_canAlwaysBeWritten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 200)
	names := []string{"", "~", "a", "A_b.c-d", "a b", "a, b", "a/b", "%", "ü", long, long + "x", "\xff\n"}
	seen := map[string]string{}
	for _, name := range names {
		who := ownership.Anchor(name)
		if before, ok := seen[who]; ok {
			t.Errorf("%q and %q are both %s", before, name, who)
		}
		seen[who] = name
		if _, err := ownership.Parse(ownership.New(ownership.Claim{How: ownership.Foreign, Claimant: who}).String()); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// FuzzParse holds the decoder to its word: what it takes is written back to the
// byte, claims of unknown kinds among them, and every change of it can be read.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "found", "found, declared rootsync/team/a 2026-11-01T00:00:00Z",
		"subnamespace anchor/acme -, declared rootsync/team/a 2026-11-01T00:00:00Z", "leased desk/42 9999-12-31T23:59:59Z",
		"foreign flux/kustomization/%20/x 0000-01-01T00:00:00Z", "a b/c -, a b/d -", " , , ", "declared rootsync/a/b 2026-11-01T24:00:00Z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ownership.Parse(text)
		if err != nil {
			return
		}
		if got.String() != text {
			t.Fatalf("%q is written back as %q", text, got.String())
		}
		more := got.With(ownership.At(ownership.Declared, "rootsync/m/m", day(1)))
		again, err := ownership.Parse(more.String())
		if err != nil {
			t.Fatalf("%q with one more claim: %v", text, err)
		}
		for _, c := range got.All() {
			if kept, ok := again.Of(c.Claimant); c.Claimant != "rootsync/m/m" && (!ok || kept != c) {
				t.Errorf("%v became %v", c, kept)
			}
			if fewer := got.Without(c.Claimant); len(fewer.All()) != len(got.All())-1 {
				t.Errorf("without %s: %v", c.Claimant, fewer)
			}
		}
		v := ownership.Owner(got, nil)
		if owner, ok := v.Owner(); ok && !slices.Contains(got.All(), owner) {
			t.Errorf("%v owns and claims nothing", owner)
		}
	})
}
