// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxExpressionLength is how many characters a condition may have. The limit of
// the API server is that of its CEL parser, 100,000 code points for one
// expression; the rest is left to what an author of a policy may join to it.
const maxExpressionLength = 90_000

// requested is the namespace of the request.
const requested = "request.namespace"

// noNamespace is true for cluster-scoped requests, where the field is absent.
const noNamespace = `!has(request.namespace) || request.namespace == ""`

// conditionsFor returns what a selector cannot say of the part, and whether
// that is all of it. The index makes the names of the conditions unique, which
// the API server asks for.
func conditionsFor(index int, p *part) (conditions []admissionregistrationv1.MatchCondition, complete bool) {
	complete = true
	add := func(what, expression string) {
		if utf8.RuneCountInString(expression) > maxExpressionLength {
			complete = false
			return
		}
		conditions = append(conditions, admissionregistrationv1.MatchCondition{
			Name:       fmt.Sprintf("scope-%d-%s", index+1, what),
			Expression: expression,
		})
	}
	if !p.selected.empty() {
		add("selected", noNamespace+" || "+anyOf(p.selected, requested))
	}
	if len(p.excluded.patterns) > 0 {
		add("excluded", noNamespace+" || !("+anyOf(patternSet{patterns: p.excluded.patterns}, requested)+")")
	}
	return conditions, complete
}

// NameExpression says in CEL what MatchesName says of the name that an expression
// stands for. It is for policies that decide by the name and hold everywhere.
func (s Scope) NameExpression(name string) string {
	if s.names != nil {
		return in(s.names, name)
	}
	var terms []string
	for i := range s.parts {
		if p := &s.parts[i]; !p.selected.empty() {
			terms = append(terms, "("+anyOf(p.selected, name)+")")
		}
		if p := &s.parts[i]; !p.excluded.empty() {
			terms = append(terms, "!("+anyOf(p.excluded, name)+")")
		}
	}
	if len(terms) == 0 {
		return "true"
	}
	return strings.Join(terms, " && ")
}

// anyOf says in CEL that the set has the name that an expression stands for.
func anyOf(s patternSet, name string) string {
	var terms []string
	if len(s.exact) > 0 {
		terms = append(terms, in(s.exact, name))
	}
	for _, expression := range expressions(s.patterns) {
		terms = append(terms, name+".matches("+quote(expression)+")")
	}
	return strings.Join(terms, " || ")
}

func in(names sets.Set[string], name string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range sets.List(names) {
		quoted = append(quoted, quote(n))
	}
	return name + " in [" + strings.Join(quoted, ", ") + "]"
}

// expressions are sorted and each stands once.
func expressions(patterns []pattern) []string {
	all := make([]string, 0, len(patterns))
	for i := range patterns {
		all = append(all, patterns[i].expression)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quote writes a CEL string literal. Every escape that Go writes for valid UTF-8
// means the same in CEL; a regular expression that is not valid UTF-8 does not
// compile, so none comes here.
func quote(s string) string {
	return strconv.QuoteToASCII(s)
}
