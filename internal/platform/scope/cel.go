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
		add("selected", noNamespace+" || "+anyOf(p.selected))
	}
	if len(p.excluded.patterns) > 0 {
		add("excluded", noNamespace+" || !("+anyOf(patternSet{patterns: p.excluded.patterns})+")")
	}
	return conditions, complete
}

// anyOf says in CEL that the set has the namespace of the request.
func anyOf(s patternSet) string {
	var terms []string
	if len(s.exact) > 0 {
		quoted := make([]string, 0, len(s.exact))
		for _, name := range sets.List(s.exact) {
			quoted = append(quoted, quote(name))
		}
		terms = append(terms, "request.namespace in ["+strings.Join(quoted, ", ")+"]")
	}
	for _, expression := range expressions(s.patterns) {
		terms = append(terms, "request.namespace.matches("+quote(expression)+")")
	}
	return strings.Join(terms, " || ")
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
