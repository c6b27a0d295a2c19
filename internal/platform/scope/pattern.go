// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	excludePrefix = "!"
	regexpPrefix  = "re:"
	wildcards     = "*?"
)

// pattern is one item of a list of namespaces, without its exclusion mark.
type pattern struct {
	// text is the item as it was written, without blanks around it.
	text string
	// expression is the RE2 expression of a glob or a regular expression,
	// anchored at both ends; empty for an exact name.
	expression string
	compiled   *regexp.Regexp
}

func (p pattern) blank() bool { return p.text == "" }

// all says whether the pattern is a glob that every name matches.
func (p pattern) all() bool { return p.text != "" && strings.Trim(p.text, "*") == "" }

// parseItem reads one item. A blank item is a blank pattern and no error. The
// error says what is wrong and what to write instead.
func parseItem(item string) (p pattern, excludes bool, err error) {
	text := strings.TrimSpace(item)
	if text == "" {
		return pattern{}, false, nil
	}
	text, excludes = strings.CutPrefix(text, excludePrefix)
	if excludes {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return pattern{}, false, errors.New(`nothing follows "!": write the pattern to exclude behind it, or remove the item`)
	}

	expression, isRegexp := strings.CutPrefix(text, regexpPrefix)
	switch {
	case isRegexp:
		p, err = parseRegexp(strings.TrimSpace(expression))
	case strings.ContainsAny(text, wildcards):
		p, err = parseGlob(text)
	default:
		p, err = parseName(text)
	}
	return p, excludes, err
}

func parseName(text string) (pattern, error) {
	if len(validation.IsDNS1123Label(text)) > 0 {
		return pattern{}, errors.New("no namespace can have this name: use lowercase letters, digits and '-', " +
			`at most 63 and not '-' at either end; for a pattern use * and ?, or put "re:" before a regular expression`)
	}
	return pattern{text: text}, nil
}

// parseGlob refuses characters that no namespace has: such a glob could never
// match, and a guard that never matches is a mistake that nobody sees.
func parseGlob(text string) (pattern, error) {
	var expression strings.Builder
	expression.WriteByte('^')
	for _, r := range text {
		switch {
		case r == '*':
			expression.WriteString(".*")
		case r == '?':
			expression.WriteByte('.')
		case r == '-', 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			expression.WriteRune(r)
		default:
			return pattern{}, fmt.Errorf("no namespace has %q in its name: use lowercase letters, digits, '-', * and ?, "+
				`or put "re:" before a regular expression`, r)
		}
	}
	expression.WriteByte('$')
	return compile(text, expression.String())
}

// parseRegexp compiles the expression twice: alone, so that "a)|(b" is refused
// although the anchored form would compile, and anchored, as it is used.
func parseRegexp(expression string) (pattern, error) {
	if expression == "" {
		return pattern{}, errors.New(`nothing follows "re:": write a regular expression behind it, or remove the item`)
	}
	if _, err := regexp.Compile(expression); err != nil {
		return pattern{}, notAnExpression(err)
	}
	return compile(regexpPrefix+expression, "^(?:"+expression+")$")
}

func compile(text, expression string) (pattern, error) {
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return pattern{}, notAnExpression(err)
	}
	return pattern{text: text, expression: expression, compiled: compiled}, nil
}

func notAnExpression(err error) error {
	return fmt.Errorf("%w: use the syntax of RE2, see https://github.com/google/re2/wiki/Syntax", err)
}

// patternSet is a list of patterns, exact names apart because they are looked up
// and the others are tried.
type patternSet struct {
	exact    sets.Set[string]
	patterns []pattern
}

func (s *patternSet) add(p pattern) {
	if p.compiled != nil {
		s.patterns = append(s.patterns, p)
		return
	}
	if s.exact == nil {
		s.exact = sets.Set[string]{}
	}
	s.exact.Insert(p.text)
}

func (s *patternSet) empty() bool {
	return len(s.exact) == 0 && len(s.patterns) == 0
}

func (s *patternSet) has(name string) bool {
	if s.exact.Has(name) {
		return true
	}
	for i := range s.patterns {
		if s.patterns[i].compiled.MatchString(name) {
			return true
		}
	}
	return false
}

func (s *patternSet) matchesAll() bool {
	for i := range s.patterns {
		if s.patterns[i].all() {
			return true
		}
	}
	return false
}
