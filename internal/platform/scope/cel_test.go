// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// evaluate answers a condition for a request in the namespace, "" for none. It
// reads only the few forms of CEL that a Selection is made of, and refuses all
// else; the tests on a real API server hold the same scopes against real CEL.
func evaluate(expression, namespace string) (bool, error) {
	rest, found := strings.CutPrefix(expression, always)
	if !found {
		return false, fmt.Errorf("does not let cluster-scoped requests pass: %q", expression)
	}
	if namespace == "" {
		return true, nil
	}
	inner, negated := strings.CutPrefix(rest, "!(")
	if negated {
		rest, found = strings.CutSuffix(inner, ")")
		if !found {
			return false, fmt.Errorf("no closing parenthesis: %q", inner)
		}
	}
	holds, err := anyTerm(rest, namespace)
	return holds != negated, err
}

func anyTerm(rest, namespace string) (holds bool, err error) {
	for {
		var term bool
		if after, found := strings.CutPrefix(rest, "request.namespace in ["); found {
			term, rest, err = inList(after, namespace)
		} else if after, found := strings.CutPrefix(rest, "request.namespace.matches("); found {
			term, rest, err = matchesExpression(after, namespace)
		} else {
			return false, fmt.Errorf("unknown term: %q", rest)
		}
		if err != nil {
			return false, err
		}
		holds = holds || term
		if rest == "" {
			return holds, nil
		}
		after, found := strings.CutPrefix(rest, " || ")
		if !found {
			return false, fmt.Errorf("no operator: %q", rest)
		}
		rest = after
	}
}

func inList(rest, namespace string) (holds bool, after string, err error) {
	for {
		var item string
		if item, rest, err = literal(rest); err != nil {
			return false, "", err
		}
		holds = holds || item == namespace
		if after, found := strings.CutPrefix(rest, "]"); found {
			return holds, after, nil
		}
		after, found := strings.CutPrefix(rest, ", ")
		if !found {
			return false, "", fmt.Errorf("no end of the list: %q", rest)
		}
		rest = after
	}
}

func matchesExpression(rest, namespace string) (holds bool, after string, err error) {
	expression, rest, err := literal(rest)
	if err != nil {
		return false, "", err
	}
	after, found := strings.CutPrefix(rest, ")")
	if !found {
		return false, "", fmt.Errorf("no end of the call: %q", rest)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return false, "", err
	}
	return re.MatchString(namespace), after, nil
}

func literal(rest string) (value, after string, err error) {
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", fmt.Errorf("no literal: %q", rest)
	}
	value, err = strconv.Unquote(quoted)
	return value, rest[len(quoted):], err
}
