// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/scope/scopetest"
)

const always = `!has(request.namespace) || request.namespace == "" || `

func TestScope_Selection(t *testing.T) {
	t.Parallel()
	requirement := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	selecting := func(requirements ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: requirements}
	}
	const nameLabel = "kubernetes.io/metadata.name"

	tests := []struct {
		name   string
		scopes []configv1alpha1.Scope
		want   scope.Selection
	}{
		{name: "everything is an empty selection"},
		{name: "a star is an empty selection", scopes: []configv1alpha1.Scope{namespaces("*"), namespaces("a,*")}},
		{
			name:   "exact names are one requirement, sorted, each once",
			scopes: []configv1alpha1.Scope{namespaces("b,a,b")},
			want:   scope.Selection{NamespaceSelector: selecting(requirement(nameLabel, metav1.LabelSelectorOpIn, "a", "b"))},
		},
		{
			name:   "exact exclusions are one requirement over all scopes",
			scopes: []configv1alpha1.Scope{namespaces("!b"), namespaces("!a")},
			want:   scope.Selection{NamespaceSelector: selecting(requirement(nameLabel, metav1.LabelSelectorOpNotIn, "a", "b"))},
		},
		{
			name:   "patterns crossed with exact names need no condition",
			scopes: []configv1alpha1.Scope{namespaces("kafka-*,!re:.*-test"), namespaces("kafka-a,kafka-test,b")},
			want:   scope.Selection{NamespaceSelector: selecting(requirement(nameLabel, metav1.LabelSelectorOpIn, "kafka-a"))},
		},
		{
			name:   "nothing is the absence of a label that every namespace has",
			scopes: []configv1alpha1.Scope{namespaces("a"), namespaces("b")},
			want:   scope.Selection{NamespaceSelector: selecting(requirement(nameLabel, metav1.LabelSelectorOpDoesNotExist))},
		},
		{
			name: "different values of one label in two scopes are both asked for",
			scopes: []configv1alpha1.Scope{
				labelled("env", "prod"),
				{NamespaceSelector: &metav1.LabelSelector{
					MatchLabels:      map[string]string{"env": "dev"},
					MatchExpressions: []metav1.LabelSelectorRequirement{requirement("env", metav1.LabelSelectorOpIn, "prod")},
				}},
			},
			want: scope.Selection{NamespaceSelector: selecting(
				requirement("env", metav1.LabelSelectorOpIn, "dev"), requirement("env", metav1.LabelSelectorOpIn, "prod"))},
		},
		{
			name:   "names beside globs and regular expressions are a condition",
			scopes: []configv1alpha1.Scope{namespaces(`re:x\d+,team-?,b,a`)},
			want: scope.Selection{MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "scope-1-selected",
				Expression: always + `request.namespace in ["a", "b"]` +
					` || request.namespace.matches("^(?:x\\d+)$") || request.namespace.matches("^team-.$")`,
			}}},
		},
		{
			name:   "excluded patterns are a condition and excluded names a requirement",
			scopes: []configv1alpha1.Scope{namespaces("!default"), namespaces(`!kube-*,!a`)},
			want: scope.Selection{
				NamespaceSelector: selecting(requirement(nameLabel, metav1.LabelSelectorOpNotIn, "a", "default")),
				MatchConditions: []admissionregistrationv1.MatchCondition{{
					Name:       "scope-2-excluded",
					Expression: always + `!(request.namespace.matches("^kube-.*$"))`,
				}},
			},
		},
		{
			name:   "quotes, backslashes and other alphabets are escaped",
			scopes: []configv1alpha1.Scope{namespaces("re:[\"'\\\\é\t😀]")},
			want: scope.Selection{MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name:       "scope-1-selected",
				Expression: always + `request.namespace.matches("^(?:[\"'\\\\\u00e9\t\U0001f600])$")`,
			}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mustCompile(t, test.scopes...).Selection()); diff != "" {
				t.Errorf("selection (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScope_Selection_ofManyNames(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("namespace-%05d", i))
	}
	plain := mustCompile(t, configv1alpha1.Scope{Namespaces: many}).Selection()
	if got := len(plain.NamespaceSelector.MatchExpressions[0].Values); got != len(many) || plain.Residual {
		t.Errorf("a plain list has %d names and residual %t, want all in the selector", got, plain.Residual)
	}

	mixed := mustCompile(t, configv1alpha1.Scope{Namespaces: append(many, "kafka-*")}).Selection()
	if len(mixed.MatchConditions) > 0 || !mixed.Residual {
		t.Errorf("a list that is too long for a condition gives %d conditions and residual %t, want it left to the handler",
			len(mixed.MatchConditions), mixed.Residual)
	}
}

// TestScope_Selection_meansTheSame holds what the API server is told against
// what is decided in process, and both against the plain implementation.
func TestScope_Selection_meansTheSame(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		scopes := []configv1alpha1.Scope{scopetest.Scope(random), scopetest.Scope(random)}
		compiled := mustCompile(t, scopes...)
		selection := compiled.Selection()
		for range 8 {
			name, namespaceLabels := scopetest.Namespace(random)
			want := scopetest.Contains(name, namespaceLabels, scopes...)
			if got := compiled.Matches(name, namespaceLabels); got != want {
				t.Fatalf("%q with %v in %v: matches %t, want %t", name, namespaceLabels, scopes, got, want)
			}
			if got := admits(t, selection, name, namespaceLabels); got != want {
				t.Fatalf("%q with %v in %v: selection %+v admits %t, want %t", name, namespaceLabels, scopes, selection, got, want)
			}
		}
		if !admits(t, selection, "", nil) {
			t.Fatalf("%v: selection %+v leaves cluster-scoped objects out", scopes, selection)
		}
	}
}

// admits evaluates a selection as the API server does; no name is a
// cluster-scoped request, which a namespace selector is not asked about.
func admits(t *testing.T, selection scope.Selection, name string, namespaceLabels map[string]string) bool {
	t.Helper()
	if selection.NamespaceSelector != nil && name != "" {
		selector, err := metav1.LabelSelectorAsSelector(selection.NamespaceSelector)
		if err != nil {
			t.Fatalf("selector %v: %v", selection.NamespaceSelector, err)
		}
		if !selector.Matches(labels.Set(namespaceLabels)) {
			return false
		}
	}
	for _, condition := range selection.MatchConditions {
		holds, err := evaluate(condition.Expression, name)
		if err != nil {
			t.Fatalf("condition %s: %v", condition.Expression, err)
		}
		if !holds {
			return false
		}
	}
	return true
}

func FuzzCompile(f *testing.F) {
	f.Add("kafka-*\n!kafka-test", "re:a|b", "env", "prod", "kafka-a")
	f.Add("a\nb\n!b", "!*", "", "", "a")
	f.Add("re:\"'\\\\", " \n", "env", "", "b")
	f.Add("re:\\Qa", "re:(?P<n>a)\nre:(?P<n>b)", "a b", "", "b")
	f.Fuzz(func(t *testing.T, first, second, key, value, name string) {
		scopes := []configv1alpha1.Scope{
			{Namespaces: strings.Split(first, "\n")},
			{Namespaces: strings.Split(second, "\n")},
		}
		if key != "" {
			scopes[1].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		}
		compiled, err := scope.Compile(scopes...)
		if err != nil || strings.Contains(name, "\n") {
			return // refused as it should be, or a name that no namespace can have
		}
		namespaceLabels := scopetest.Labels(name, map[string]string{"env": "prod"})
		want := scopetest.Contains(name, namespaceLabels, scopes...)
		if got := compiled.Matches(name, namespaceLabels); got != want {
			t.Errorf("%q in %q: matches %t, want %t", name, scopes, got, want)
		}
		if got := admits(t, compiled.Selection(), name, namespaceLabels); got != want && !compiled.Selection().Residual {
			t.Errorf("%q in %q: selection admits %t, want %t", name, scopes, got, want)
		}
		if compiled.String() == "" {
			t.Error("no description")
		}
	})
}
