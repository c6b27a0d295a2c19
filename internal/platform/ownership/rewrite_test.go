// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// claims reads claims as they are written, in any order.
func claims(t testing.TB, text string) []ownership.Claim {
	t.Helper()
	var out []ownership.Claim
	for item := range strings.SplitSeq(text, ", ") {
		if item == "" {
			continue
		}
		c, err := ownership.Parse(item)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.All()...)
	}
	return out
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	const (
		a      = "declared rootsync/s/a 2026-11-01T00:00:00Z"
		b      = "declared rootsync/s/b 2026-11-02T00:00:00Z"
		x      = "implicit rootsync/s/x 2026-11-03T00:00:00Z"
		flux   = "foreign flux/kustomization/flux-system/apps"
		marksA = "declared rootsync/config-management-system/a"
		same   = "same" // nothing is written
	)
	tests := []struct {
		name, marks, annotation string
		claim, release          string
		want                    string
	}{
		{name: "a declaration adopts a namespace that was nobody's", claim: a, want: "found, " + a},
		{name: "implicit use does not", claim: x, want: same},
		{name: "nor does it where another tool is", marks: "flux", claim: x, want: same},
		{name: "nor on what an anchor made", marks: "acme", claim: x, want: same},
		{name: "what HNC's annotation says is not written", marks: "acme", claim: "subnamespace anchor/acme 2026-11-01T00:00:00Z", want: same},
		{name: "what Config Sync's marks say is not written", marks: "declares", claim: marksA + " 2026-11-01T00:00:00Z", want: same},
		{name: "nor is implicit use in them", marks: "uses", claim: usesX + " 2026-11-01T00:00:00Z", want: same},
		{name: "what stands is not written again", annotation: a, claim: a, want: same},
		{name: "with a real change what marks say is written too", marks: "acme flux", claim: a, want: "found, subnamespace anchor/acme -, " + flux + " -, " + a},
		{name: "of a RootSync too, and then the namespace was not found", marks: "declares", claim: b, want: marksA + " -, " + b},
		{name: "a time is written where something is written anyway", marks: "declares", annotation: marksA + " -, " + b, claim: marksA + " 2026-11-01T00:00:00Z", want: marksA + " 2026-11-01T00:00:00Z, " + b},
		{name: "also with another claim in one change", marks: "declares", claim: marksA + " 2026-11-01T00:00:00Z, " + b, want: marksA + " 2026-11-01T00:00:00Z, " + b},
		{name: "use is written where use can own", annotation: a, claim: x, want: a + ", " + x},
		{name: "and not where it cannot", annotation: "found, " + a, claim: x, want: same},
		{name: "whoever declared and only uses a found namespace gives it up", annotation: "found, " + a + ", " + b, claim: "implicit rootsync/s/a 2026-11-01T00:00:00Z", want: "found, " + b},
		{name: "use becomes a declaration", annotation: x, claim: "declared rootsync/s/x 2026-11-03T00:00:00Z", want: "declared rootsync/s/x 2026-11-03T00:00:00Z"},
		{name: "a RootSync that was made anew is younger", annotation: a, claim: "declared rootsync/s/a 2026-11-08T00:00:00Z", want: "declared rootsync/s/a 2026-11-08T00:00:00Z"},
		{name: "the last claim that is released takes the annotation with it", annotation: "found, " + a, release: "rootsync/s/a", want: ""},
		{name: "one of two", annotation: a + ", " + x, release: "rootsync/s/a", want: x},
		{name: "one that is not there", annotation: a, release: "rootsync/s/b", want: same},
		{name: "one that only a mark makes goes with its mark", marks: "declares", release: "rootsync/config-management-system/a", want: same},
		{name: "the mark of a claimant that gives up does not count", marks: "declares", annotation: marksA + " -, " + b, release: "rootsync/config-management-system/a", want: b},
		{name: "what marks say anyway need not stand", marks: "acme", annotation: "found, subnamespace anchor/acme -, " + a, release: "rootsync/s/a", want: ""},
		{name: "unless it would be found then", marks: "acme", annotation: "subnamespace anchor/acme -, " + a, release: "rootsync/s/a", want: "subnamespace anchor/acme -"},
		{name: "what lost its mark goes with a real change", annotation: "subnamespace anchor/acme -, " + a, claim: b, want: a + ", " + b},
		{name: "and not by itself", annotation: "subnamespace anchor/acme -, " + a, claim: a, want: same},
		{name: "a mark that came later gets the time of the change", marks: "flux", annotation: a, claim: b, want: flux + " 2026-11-20T00:00:00Z, " + a + ", " + b},
		{name: "claims of kinds that this version does not know are kept", annotation: "leased desk/1 2026-11-01T00:00:00Z, " + a, claim: b, release: "rootsync/s/a", want: "leased desk/1 2026-11-01T00:00:00Z, " + b},
		{name: "no change is none", marks: "flux", annotation: a, want: same},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := namespace(tt.marks, tt.annotation)
			change := ownership.Change{Claim: claims(t, tt.claim), Release: strings.Fields(tt.release)}
			w, err := ownership.Rewrite(o, change, day(20))
			if err != nil {
				t.Fatal(err)
			}
			got := same
			if w != nil {
				got = strings.TrimPrefix(w.Annotation, binds)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("written (-want +got):\n%s", diff)
			}
			if w == nil || w.Annotation == "" {
				return
			}
			// Once written, there is nothing left to write.
			after := namespace(tt.marks, got)
			for _, claimant := range change.Release { // who gives up takes the marks off
				if claimant == "rootsync/config-management-system/a" {
					after = namespace("", got)
				}
			}
			if again, err := ownership.Rewrite(after, change, day(21)); err != nil || again != nil {
				t.Errorf("again it writes %v, %v", again, err)
			}
		})
	}
}

func TestRewrite_anAnnotationThatIsNotBoundGoes(t *testing.T) {
	t.Parallel()
	const (
		a, b  = "declared rootsync/s/a 2026-11-01T00:00:00Z", "declared rootsync/s/b 2026-11-02T00:00:00Z"
		marks = "declared rootsync/config-management-system/a"
	)
	for _, tt := range []struct{ name, annotation, claim, want string }{
		{"of the first version, which did not bind it", a + ", " + b, "", ""},
		{"of another Namespace, from a backup", "of 2, " + a, "", ""},
		{"that cannot be read", "nonsense", "", ""},
		{"with another claim in its place", a, b, binds + marks + " -, " + b},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := namespace("declares", "")
			o.Annotations[v1alpha1.ClaimsAnnotation] = tt.annotation
			w, err := ownership.Rewrite(o, ownership.Change{Claim: claims(t, tt.claim)}, day(20))
			if err != nil || w == nil {
				t.Fatalf("it writes %v, %v", w, err)
			}
			if diff := cmp.Diff(tt.want, w.Annotation); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewrite_whatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]ownership.Claim{
		"no claimant":         {How: ownership.Declared},
		"a claimant of words": {How: ownership.Declared, Claimant: "rootsync/s/a b"},
		"no way":              {Claimant: "rootsync/s/a"},
		"parts of a second":   {How: ownership.Declared, Claimant: "rootsync/s/a", Since: day(1).Add(1)},
	} {
		if w, err := ownership.Rewrite(namespace("", ""), ownership.Change{Claim: []ownership.Claim{c}}, day(1)); err == nil && c.Since.IsZero() {
			t.Errorf("%s: it writes %v", name, w)
		}
	}
	many := ownership.Change{}
	for i := range 2000 {
		many.Claim = append(many.Claim, ownership.At(ownership.Declared, ownership.RootSync("s", strings.Repeat("a", i%200)+string(rune('a'+i/200))), day(1)))
	}
	if _, err := ownership.Rewrite(namespace("", ""), many, day(1)); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("got %v, want an error about the size", err)
	}
}

func TestWrite_isAMergePatchForThatVersionOfThatNamespaceAlone(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, annotation, claim, release, want string }{
		{
			name: "a value", claim: "declared rootsync/s/a -",
			want: `{"metadata":{"annotations":{"holdfast.dev/claims":"of u, found, declared rootsync/s/a -"},"resourceVersion":"7","uid":"u"}}`,
		},
		{
			name: "none", annotation: "declared rootsync/s/a -", release: "rootsync/s/a",
			want: `{"metadata":{"annotations":{"holdfast.dev/claims":null},"resourceVersion":"7","uid":"u"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := ownership.Rewrite(namespace("", tt.annotation), ownership.Change{Claim: claims(t, tt.claim), Release: strings.Fields(tt.release)}, day(1))
			if err != nil {
				t.Fatal(err)
			}
			body, err := w.MergePatch()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(body)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}
