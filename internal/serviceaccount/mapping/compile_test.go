// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestCompile_refuses(t *testing.T) {
	t.Parallel()
	const at = "spec.accounts[0]."
	tests := []struct{ name, account, field, detail string }{
		{"an expression that is none", "name: ${self.}", at + "name", "in ${self.}: "},
		{"an expression without an end", "name: ${self.metadata.name", at + "name", "${ has no closing brace"},
		{"an expression that is empty", "name: a-${}", at + "name", "in ${}: "},
		{"an expression about something else", "name: ${object.metadata.name}", at + "name", "undeclared reference to 'object'"},
		{"a name that is a number", "name: ${1 + 1}", at + "name", "must be text, and is a int"},
		{"no name at all", "name: ''", at + "name", "an account needs a name"},
		{"a path without a dot at its beginning", "template: spec.template", at + "template", "must be names with a dot before each"},
		{"a path with an empty name", "template: .spec..template", at + "template", "must be names with a dot before each"},
		{"a path into a list", "template: '.spec.pools[0].template'", at + "template", "must be names with a dot before each"},
		{"a condition that is text", "enabled: self.metadata.name + 'x'", at + "enabled", "must be true or false, and is a string"},
		{"a condition that is none", "enabled: has(self)", at + "enabled", "invalid argument to has() macro"},
		{"a label that is none", "labels: {'a b': c}", at + "labels[a b]", "name part must consist of"},
		{"a label with an expression that is none", "labels: {a: '${'}", at + "labels[a]", "${ has no closing brace"},
		{"a label of Holdfast's own", "labels: {holdfast.dev/x: c}", at + "labels[holdfast.dev/x]", "holdfast.dev/x is a key of Holdfast's own"},
		{"an exclusion that is none", "inheritLabels: {exclude: '('}", at + "inheritLabels.exclude", "must be a regular expression"},
		{"an exclusion that is one only in the group around it", "inheritLabels: {exclude: 'a)|(?:b'}", at + "inheritLabels.exclude", "must be a regular expression"},
		{"a refusal that is none", "forbiddenLabels: {pattern: '[', message: m}", at + "forbiddenLabels.pattern", "must be a regular expression"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, problems := Compile(templateOf(t, test.account))
			if len(problems) != 1 {
				t.Fatalf("got %v, want one problem", problems)
			}
			if got := problems[0]; got.Field != test.field || !strings.Contains(got.Error(), test.detail) {
				t.Errorf("got %v, want %s: … %s", got, test.field, test.detail)
			}
		})
	}
}

func TestCompile_refusesWhatTheSchemaWould(t *testing.T) {
	t.Parallel()
	var got []string
	_, problems := Compile(&v1alpha1.ServiceAccountTemplate{})
	for _, p := range problems {
		got = append(got, p.Field)
	}
	if diff := cmp.Diff([]string{"spec.source.group", "spec.source.kind", "spec.accounts"}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	twice := templateOf(t, "{}")
	twice.Spec.Accounts = append(twice.Spec.Accounts, twice.Spec.Accounts[0])
	if _, problems = Compile(twice); len(problems) != 1 || problems[0].Field != "spec.accounts[1].id" {
		t.Errorf("got %v, want a duplicate id", problems)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"**", "", true}, {"?", "", false}, {"", "a", false}, {"a", "", false},
		{"abc", "abc", true}, {"abc", "abcd", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*c", "abcbc", true}, {"*bc", "abcbd", false}, {"a*", "a", true}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXcYb", false},
		{"a**c?", "abcd", true}, {"*.*", "abc", false}, {"a+", "aa", false}, {"*/role", "eks/x/role", true},
	}
	for _, test := range tests {
		if got := glob(test.pattern, test.text); got != test.want {
			t.Errorf("%q on %q: %t", test.pattern, test.text, got)
		}
	}
}

func TestConflicts_For(t *testing.T) {
	t.Parallel()
	c := compiled(t, `conflicts: {default: Fail, keys: [
		{pattern: eks.amazonaws.com/*, policy: Force}, {pattern: 'a?c', policy: Yield}, {pattern: a.c, policy: Force}, {pattern: 'é*', policy: Force}]}`).accounts[0].conflicts
	for key, want := range map[string]v1alpha1.ConflictPolicy{
		"eks.amazonaws.com/role-arn": v1alpha1.ConflictForce, "abc": v1alpha1.ConflictYield, "a.c": v1alpha1.ConflictYield,
		"abbc": v1alpha1.ConflictFail, "x/eks.amazonaws.com/role-arn": v1alpha1.ConflictFail, "éa": v1alpha1.ConflictForce,
	} {
		if got := c.For(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if got := (Conflicts{}).For("a"); got != v1alpha1.ConflictYield {
		t.Errorf("by default: %s", got)
	}
}
