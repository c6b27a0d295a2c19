// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// self is the variable of all expressions.
const self = "self"

var celEnvironment = sync.OnceValues(func() (*cel.Environment, error) { return cel.NewEnvironment(self) })

// text is a text with expressions in ${…}.
type text []part

// part is an expression, or what stands between two.
type part struct {
	literal    string
	expression *cel.Text
}

const opening = "${"

func compileText(in string) (text, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	var out text
	for {
		literal, rest, found := strings.Cut(in, opening)
		if literal != "" {
			out = append(out, part{literal: literal})
		}
		if !found {
			return out, nil
		}
		inner, after, err := cutExpression(env, rest)
		if err != nil {
			return nil, err
		}
		expression, err := env.Text(inner)
		if err != nil {
			return nil, fmt.Errorf("in %s%s}: %w", opening, inner, err)
		}
		out, in = append(out, part{expression: expression}), after
	}
}

// cutExpression finds the end of an expression. CEL has braces of its own, in maps,
// messages and text, so the end is the first brace before which all is an expression.
func cutExpression(env *cel.Environment, in string) (inner, after string, err error) {
	var first error
	for at := 0; ; at++ {
		next := strings.IndexByte(in[at:], '}')
		if next < 0 {
			break
		}
		at += next
		err := env.Parse(in[:at])
		if err == nil {
			return in[:at], in[at+1:], nil
		}
		if first == nil {
			first = fmt.Errorf("in %s%s}: %w", opening, in[:at], err)
		}
	}
	if first != nil {
		return "", "", first
	}
	return "", "", errors.New(opening + " has no closing brace")
}

func (t text) eval(variables map[string]any) (string, error) {
	var out strings.Builder
	for _, p := range t {
		if p.expression == nil {
			out.WriteString(p.literal)
			continue
		}
		value, err := p.expression.Eval(variables)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
	}
	return out.String(), nil
}
