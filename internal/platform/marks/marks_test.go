// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func object(labels, annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		labels      map[string]string
		annotations map[string]string
		want        Set
		any         bool
	}{
		{name: "no labels, no marks", want: Set{}},
		{name: "a mark with what it says", labels: map[string]string{v1alpha1.ProtectedByMark: "one"}, annotations: map[string]string{v1alpha1.ProtectedByMark: "ask Ann"}, want: Set{v1alpha1.ProtectedByMark: {Value: "one", Detail: "ask Ann"}}, any: true},
		{name: "a mark that says no more", labels: map[string]string{v1alpha1.InUseMark: "true"}, want: Set{v1alpha1.InUseMark: {Value: "true"}}, any: true},
		{name: "an empty mark is one", labels: map[string]string{v1alpha1.OverrideMark: ""}, want: Set{v1alpha1.OverrideMark: {}}, any: true},
		{name: "an annotation alone is none", annotations: map[string]string{v1alpha1.ProtectedByMark: "ask Ann"}, want: Set{}},
		{name: "the label that people set is none", labels: map[string]string{v1alpha1.DeletionProtectedLabel: "Always"}, want: Set{}},
		{name: "the label of all that is marked looks like one", labels: map[string]string{v1alpha1.MarkedLabel: "true"}, want: Set{}, any: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := object(tt.labels, tt.annotations)
			if diff := cmp.Diff(tt.want, Of(o)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if got := Any(o); got != tt.any {
				t.Errorf("any: got %t, want %t", got, tt.any)
			}
		})
	}
}

func TestSet_compares(t *testing.T) {
	t.Parallel()
	const key, other = v1alpha1.ProtectedByMark, v1alpha1.HoldsProtectedMark
	one := Set{key: {Value: "one", Detail: "ask Ann"}}
	tests := []struct {
		name        string
		set         Set
		equal, same bool
	}{
		{name: "the same", set: Set{key: {Value: "one", Detail: "ask Ann"}}, equal: true, same: true},
		{name: "another text", set: Set{key: {Value: "one", Detail: "ask Bob"}}, same: true},
		{name: "another value", set: Set{key: {Value: "two", Detail: "ask Ann"}}},
		{name: "another key", set: Set{other: {Value: "one", Detail: "ask Ann"}}},
		{name: "one more", set: Set{key: {Value: "one", Detail: "ask Ann"}, other: {Value: "true"}}},
		{name: "none", set: Set{}},
		{name: "an empty value is not none", set: Set{key: {}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := []bool{one.Equal(tt.set), tt.set.Equal(one)}; got[0] != tt.equal || got[1] != tt.equal {
				t.Errorf("equal: got %v, want %t", got, tt.equal)
			}
			if got := []bool{one.SameVerdict(tt.set), tt.set.SameVerdict(one)}; got[0] != tt.same || got[1] != tt.same {
				t.Errorf("same verdict: got %v, want %t", got, tt.same)
			}
		})
	}
}

func TestDetail(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{name: "a text stays", in: "one (ask Ann)", want: "one (ask Ann)"},
		{name: "lines become one", in: "ask\r\n\tAnn\u2028now\u0085", want: "ask Ann now"},
		{name: "nothing stays nothing", in: " \n ", want: ""},
		{name: "the limit is kept", in: strings.Repeat("a", 1024), want: strings.Repeat("a", 1024)},
		{name: "more is cut", in: strings.Repeat("a", 1025), want: strings.Repeat("a", 1024) + " …"},
		{name: "a letter is not cut in two", in: "a" + strings.Repeat("é", 600), want: "a" + strings.Repeat("é", 511) + " …"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Detail(tt.in)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDetail holds the text to what an annotation and the message of a policy may
// be.
func FuzzDetail(f *testing.F) {
	for _, seed := range []string{"", "one (ask Ann)", "a\nb", strings.Repeat("é ", 700), "\xff\xfe", "a\u2028b\u2029c\u0085d\ve\ff", strings.Repeat("\xe2\x82", 600)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Detail(in)
		switch {
		case !utf8.ValidString(got):
			t.Errorf("%q is not UTF-8", got)
		case strings.ContainsAny(got, "\n\r\v\f\u0085\u2028\u2029"):
			t.Errorf("%q has more than one line", got)
		case strings.TrimSpace(got) != got:
			t.Errorf("%q has blanks around it", got)
		case len(got) > detailLimit+len(" …"):
			t.Errorf("%d bytes", len(got))
		}
	})
}

// A mark that no policy guards can be faked.
func TestPolicies_coverEveryMark(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, p := range Policies(configv1alpha1.ModeEnforce, []string{"holdfast"}) {
		if p.Mode != configv1alpha1.ModeEnforce || !strings.HasPrefix(p.Name, "holdfast-") {
			t.Errorf("%s is in mode %s", p.Name, p.Mode)
		}
		m := p.Spec.MatchConstraints
		for _, e := range m.ObjectSelector.MatchExpressions {
			if e.Key == ProbeLabel {
				continue
			}
			covered[e.Key] = true
			if p.Name != PolicyName(e.Key) || e.Operator != metav1.LabelSelectorOpExists || len(m.ObjectSelector.MatchExpressions) != 1 {
				t.Errorf("%s selects by %v", p.Name, m.ObjectSelector)
			}
			if got := m.ResourceRules[0].Resources; !cmp.Equal(got, []string{"*/*"}) {
				t.Errorf("%s watches %v, and subresources are ways to write too", p.Name, got)
			}
		}
	}
	want := map[string]bool{}
	for _, key := range append([]string{v1alpha1.MarkedLabel}, v1alpha1.Marks...) {
		want[key] = true
		if problems := validation.IsDNS1123Subdomain(PolicyName(key)); len(problems) > 0 {
			t.Errorf("%s: %v", PolicyName(key), problems)
		}
	}
	if diff := cmp.Diff(want, covered); diff != "" {
		t.Errorf("marks (-want +covered):\n%s", diff)
	}
	for _, key := range []string{v1alpha1.DeletionProtectedLabel} {
		if covered[key] {
			t.Errorf("%s is no mark", key)
		}
	}
}
