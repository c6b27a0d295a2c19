// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestOf(t *testing.T) {
	t.Parallel()
	const uid = "0b4d0d5a-7f3a-4a51-9f0e-2f6f4f1f9a11"
	bound := func(more map[string]string) map[string]string {
		more[v1alpha1.MarkedLabel] = uid
		return more
	}
	tests := []struct {
		name        string
		labels      map[string]string
		annotations map[string]string
		want        Set
		any, stray  bool
	}{
		{name: "no labels, no marks", want: Set{}},
		{name: "a mark with what it says", labels: bound(map[string]string{v1alpha1.ProtectedByMark: "one"}), annotations: map[string]string{v1alpha1.ProtectedByMark: "ask Ann"}, want: Set{v1alpha1.ProtectedByMark: {Value: "one", Detail: "ask Ann"}}, any: true},
		{
			name: "a mark with the labels that select", labels: bound(map[string]string{v1alpha1.ProtectedByMark: "one"}), annotations: map[string]string{v1alpha1.LabelsAnnotation(v1alpha1.ProtectedByMark): "app"},
			want: Set{v1alpha1.ProtectedByMark: {Value: "one", Labels: "app"}}, any: true,
		},
		{
			name: "a mark that nothing selects by labels", labels: bound(map[string]string{v1alpha1.HoldsProtectedMark: "true"}), annotations: map[string]string{v1alpha1.LabelsAnnotation(v1alpha1.HoldsProtectedMark): "app"},
			want: Set{v1alpha1.HoldsProtectedMark: {Value: "true"}}, any: true,
		},
		{name: "a mark that says no more", labels: bound(map[string]string{v1alpha1.InUseMark: "true"}), want: Set{v1alpha1.InUseMark: {Value: "true"}}, any: true},
		{name: "an empty mark is one", labels: bound(map[string]string{v1alpha1.OverrideMark: ""}), want: Set{v1alpha1.OverrideMark: {}}, any: true},
		{name: "an annotation alone is none", labels: bound(map[string]string{}), annotations: map[string]string{v1alpha1.ProtectedByMark: "ask Ann"}, want: Set{}, any: true},
		{name: "the label that people set is none", labels: bound(map[string]string{v1alpha1.DeletionProtectedLabel: "Always"}), want: Set{}, any: true},
		{name: "a mark that nothing binds is none", labels: map[string]string{v1alpha1.ProtectedByMark: "one"}, want: Set{}},
		{name: "those with the UID of another object are strays", labels: map[string]string{v1alpha1.ProtectedByMark: "one", v1alpha1.MarkedLabel: "59ab"}, want: Set{}, any: true, stray: true},
		{name: "those of an older version are strays", labels: map[string]string{v1alpha1.ProtectedByMark: "one", v1alpha1.MarkedLabel: "true"}, want: Set{}, any: true, stray: true},
		{name: "those with an empty UID are strays", labels: map[string]string{v1alpha1.OverrideMark: "one", v1alpha1.MarkedLabel: ""}, want: Set{}, any: true, stray: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, Labels: tt.labels, Annotations: tt.annotations}}
			if diff := cmp.Diff(tt.want, Of(o)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if got := []bool{Any(o), Stray(o)}; got[0] != tt.any || got[1] != tt.stray {
				t.Errorf("any %t and stray %t, want %t and %t", got[0], got[1], tt.any, tt.stray)
			}
		})
	}
}

// An object that is being created has no UID yet, so no mark is bound to it.
func TestOf_anObjectThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.MarkedLabel: "", v1alpha1.OverrideMark: "one"}}}
	if got := Of(o); len(got) > 0 {
		t.Errorf("got %v", got)
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
		{name: "another label selects", set: Set{key: {Value: "one", Detail: "ask Ann", Labels: "app"}}},
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

// A mark that no policy guards can be forged.
func TestPolicies_coverEveryMark(t *testing.T) {
	t.Parallel()
	want := append([]string{v1alpha1.MarkedLabel, v1alpha1.LabelsAnnotation(v1alpha1.ProtectedByMark), v1alpha1.LabelsAnnotation(v1alpha1.ProtectedWhileUsedByMark)}, v1alpha1.Marks...)
	for _, p := range Policies(configv1alpha1.ModeEnforce, []string{"holdfast"}) {
		if p.Mode != configv1alpha1.ModeEnforce || !strings.HasPrefix(p.Name, PolicyName) && p.Name != probePolicyName {
			t.Errorf("%s is in mode %s", p.Name, p.Mode)
		}
		if p.Name == probePolicyName {
			continue
		}
		text := p.Spec.Validations[0].Expression
		for _, v := range p.Spec.Variables {
			text += v.Expression
		}
		for _, key := range want {
			if !strings.Contains(text, strconv.Quote(key)) {
				t.Errorf("%s does not mention %s", p.Name, key)
			}
		}
	}
}
