// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/scope/scopetest"
)

// namespaces writes a scope of patterns, separated by commas.
func namespaces(list string) configv1alpha1.Scope {
	return configv1alpha1.Scope{Namespaces: strings.Split(list, ",")}
}

func labelled(key, value string) configv1alpha1.Scope {
	return configv1alpha1.Scope{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

func mustCompile(t *testing.T, scopes ...configv1alpha1.Scope) scope.Scope {
	t.Helper()
	compiled, err := scope.Compile(scopes...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return compiled
}

func TestScope_Matches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		scopes []configv1alpha1.Scope
		labels map[string]string
		in     string
		out    string
	}{
		{name: "no scope is every namespace", in: "a kube-system"},
		{name: "an empty scope is every namespace", scopes: []configv1alpha1.Scope{{}}, in: "a b"},
		{name: "only blank items are every namespace", scopes: []configv1alpha1.Scope{namespaces(" ,,")}, in: "a b"},
		{
			name:   "an exact name is that name only, without the blanks around it",
			scopes: []configv1alpha1.Scope{namespaces(" kafka ,dev")},
			in:     "kafka dev", out: "kafka-1 kafk akafka prod",
		},
		{
			name:   "a star is any run of characters, also none",
			scopes: []configv1alpha1.Scope{namespaces("kafka*")},
			in:     "kafka kafka-1", out: "akafka kafk",
		},
		{
			name:   "a question mark is exactly one character",
			scopes: []configv1alpha1.Scope{namespaces("team-?")},
			in:     "team-a", out: "team- team-ab",
		},
		{
			name:   "a regular expression must match the whole name",
			scopes: []configv1alpha1.Scope{namespaces("re: a|b-.*")},
			in:     "a b-1", out: "aa xb-1 b",
		},
		{
			name:   "flags of one regular expression do not reach another",
			scopes: []configv1alpha1.Scope{namespaces("re:(?i)A,re:B")},
			in:     "a", out: "b",
		},
		{
			name:   "with exclusions alone all others are in",
			scopes: []configv1alpha1.Scope{namespaces("!kube-*,! default,!re:x+")},
			in:     "a kube", out: "kube-system default xx",
		},
		{
			name:   "an exclusion beats what selects the name",
			scopes: []configv1alpha1.Scope{namespaces("kafka-*,kafka-test,!kafka-test")},
			in:     "kafka-prod", out: "kafka-test a",
		},
		{
			name:   "excluding everything leaves no namespace",
			scopes: []configv1alpha1.Scope{namespaces("a,!*")},
			out:    "a b",
		},
		{
			name:   "a star among names is every namespace",
			scopes: []configv1alpha1.Scope{namespaces("a,*")},
			in:     "a b",
		},
		{
			name:   "two scopes are their intersection",
			scopes: []configv1alpha1.Scope{namespaces("!kube-*,!a"), namespaces("a,b,kube-system")},
			in:     "b", out: "a c kube-system",
		},
		{
			name:   "two scopes with nothing in common are nothing",
			scopes: []configv1alpha1.Scope{namespaces("a"), namespaces("b")},
			out:    "a b",
		},
		{
			name:   "a label selector must match as well",
			scopes: []configv1alpha1.Scope{namespaces("a"), labelled("env", "prod")},
			labels: map[string]string{"env": "prod"},
			in:     "a", out: "b",
		},
		{
			name:   "a label selector can refuse what the names select",
			scopes: []configv1alpha1.Scope{namespaces("a"), labelled("env", "prod")},
			labels: map[string]string{"env": "dev"},
			out:    "a b",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			compiled := mustCompile(t, test.scopes...)
			for name := range strings.FieldsSeq(test.in) {
				if !compiled.Matches(name, scopetest.Labels(name, test.labels)) {
					t.Errorf("%q is out, want in", name)
				}
			}
			for name := range strings.FieldsSeq(test.out) {
				if compiled.Matches(name, scopetest.Labels(name, test.labels)) {
					t.Errorf("%q is in, want out", name)
				}
			}
			if !compiled.Matches("", nil) {
				t.Error("cluster-scoped objects are out, want in")
			}
		})
	}
}

func TestCompile_errors(t *testing.T) {
	t.Parallel()
	const noSuchName = "no namespace can have this name: use lowercase letters, digits and '-', " +
		`at most 63 and not '-' at either end; for a pattern use * and ?, or put "re:" before a regular expression`
	tests := []struct {
		name   string
		scopes []configv1alpha1.Scope
		want   []string
	}{
		{
			name:   "every mistake is named with its place",
			scopes: []configv1alpha1.Scope{namespaces("ok,Kafka,!,re:,kafka_*")},
			want: []string{
				`namespaces[1]: Invalid value: "Kafka": ` + noSuchName,
				`namespaces[2]: Invalid value: "!": nothing follows "!"`,
				`namespaces[3]: Invalid value: "re:": nothing follows "re:"`,
				`namespaces[4]: Invalid value: "kafka_*": no namespace has '_' in its name`,
			},
		},
		{
			name:   "with several scopes the place says which",
			scopes: []configv1alpha1.Scope{{}, namespaces("a b")},
			want:   []string{`scopes[1].namespaces[0]: Invalid value: "a b": `},
		},
		{
			name:   "more patterns than can be held against each request",
			scopes: []configv1alpha1.Scope{{Namespaces: slices.Concat(slices.Repeat([]string{"a-*", "!re:b", "c?"}, 334), slices.Repeat([]string{"name"}, 5000))}},
			want:   []string{"namespaces: Invalid value: has 1002 patterns, at most 1000 can be used: use fewer patterns"},
		},
		{
			name:   "a regular expression that is not one",
			scopes: []configv1alpha1.Scope{namespaces("re:(a")},
			want:   []string{"namespaces[0]", "missing closing )", "RE2"},
		},
		{
			name:   "parentheses that only fit the anchors",
			scopes: []configv1alpha1.Scope{namespaces("re:a)|(b")},
			want:   []string{"unexpected )"},
		},
		{
			name:   "a quotation that would swallow the anchors",
			scopes: []configv1alpha1.Scope{namespaces(`re:\Qa`)},
			want:   []string{"missing closing )"},
		},
		{
			name:   "an exclusion of an exclusion",
			scopes: []configv1alpha1.Scope{namespaces("!!a")},
			want:   []string{"namespaces[0]", noSuchName},
		},
		{
			name: "a label selector",
			scopes: []configv1alpha1.Scope{{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{"a b": "c"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Has"}},
			}}},
			want: []string{"namespaceSelector.matchLabels", "namespaceSelector.matchExpressions[0].operator"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := scope.Compile(test.scopes...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestScope_String(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		scopes []configv1alpha1.Scope
		want   string
	}{
		{name: "everything", want: "all namespaces"},
		{name: "nothing", scopes: []configv1alpha1.Scope{namespaces("a,!a")}, want: "no namespace"},
		{name: "one name", scopes: []configv1alpha1.Scope{namespaces("a")}, want: "namespace a"},
		{name: "names", scopes: []configv1alpha1.Scope{namespaces("b,a,!c")}, want: "namespaces a, b"},
		{
			name:   "names with labels",
			scopes: []configv1alpha1.Scope{namespaces("b,a"), labelled("env", "prod")},
			want:   "namespaces a, b labelled env=prod",
		},
		{
			name:   "patterns and exclusions",
			scopes: []configv1alpha1.Scope{namespaces("kafka-*,a,!kafka-test,!re:x+")},
			want:   "namespaces a, kafka-* except kafka-test, re:x+",
		},
		{
			name:   "exclusions in a scope and patterns in the next",
			scopes: []configv1alpha1.Scope{namespaces("!kube-*"), namespaces("kafka-*"), labelled("env", "prod")},
			want:   "all namespaces except kube-*; of these kafka-*; of these all labelled env=prod",
		},
		{
			name:   "a long list is cut",
			scopes: []configv1alpha1.Scope{namespaces("a,b,c,d,e,f,g,h,i,j,k,l,m,n")},
			want:   "namespaces a, b, c, d, e, f, g, h, i, j, k, l and 2 more",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mustCompile(t, test.scopes...).String()); diff != "" {
				t.Errorf("string (-want +got):\n%s", diff)
			}
		})
	}
}
