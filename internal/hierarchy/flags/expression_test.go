// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"regexp"
	"strings"
	"testing"
)

func TestAsHNC(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, expression, in, out string
		same                      bool
	}{
		{name: "a plain one", expression: "team-.*", in: "team-a", out: "a-team-a xteam", same: true},
		{name: "alternatives in a group", expression: "(a|b)", in: "a b", out: "ab xa bx", same: true},
		{name: "alternatives", expression: "a|b", in: "a b ax xb", out: "xa bx c"},
		{name: "the one in the middle is anywhere", expression: "a|b|c", in: "ax xbx xc", out: "xa cx"},
		{name: "anchors that HNC's users wrote themselves", expression: "^a$|^b$", in: "a b", out: "ax xb xa bx"},
		{name: "a class is no alternative", expression: "[ab]", in: "a b", out: "ax xb", same: true},
		{name: "what is one class after all", expression: "(?:a|b)", in: "a b", out: "ax xb", same: true},
		{
			name: "the example of HNC's chart", same: true,
			expression: "([^o].*|o([^p].*)|op([^e].*)|ope([^n].*)|open([^s].*)|opens([^h].*)|opensh([^i].*)|openshi([^f].*)|openshif([^t].*))",
			in:         "team default openstack", out: "openshift openshift-dns",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole, same := asHNC(tt.expression)
			if same != tt.same {
				t.Errorf("%q becomes %q, the same: %t", tt.expression, whole, same)
			}
			r := regexp.MustCompile("^(?:" + whole + ")$")
			for name := range strings.FieldsSeq(tt.in) {
				if !r.MatchString(name) {
					t.Errorf("%s does not match", name)
				}
			}
			for name := range strings.FieldsSeq(tt.out) {
				if r.MatchString(name) {
					t.Errorf("%s matches", name)
				}
			}
		})
	}
}

// FuzzAsHNC compares with what HNC does.
func FuzzAsHNC(f *testing.F) {
	for _, e := range []string{"a|b", "a", "(a|b)", "^a|b$", "(?i)A|b", "a|^b", "|", "a||b", `a\|b`, "[|]", "a|b)(", "(?s).|x", `\b|a`, `a|\z`} {
		f.Add(e, "ab")
	}
	f.Fuzz(func(t *testing.T, expression, name string) {
		if strings.ContainsAny(name, "\n") || len(expression) > 200 {
			return // names have one line
		}
		if _, err := regexp.Compile(expression); err != nil {
			return // refused
		}
		theirs, err := regexp.Compile("^" + expression + "$")
		if err != nil {
			return
		}
		whole, _ := asHNC(expression)
		if expression == "" {
			return // which is for all, and not looked at here
		}
		ours, err := regexp.Compile("^(?:" + whole + ")$")
		if err != nil {
			t.Fatalf("%q becomes %q: %v", expression, whole, err)
		}
		if got, want := ours.MatchString(name), theirs.MatchString(name); got != want {
			t.Errorf("%q and %q: got %t, HNC has %t", expression, name, got, want)
		}
	})
}
