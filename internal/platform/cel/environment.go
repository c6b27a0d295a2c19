// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// environmentVersion is the oldest Kubernetes that Holdfast runs on: what an
// expression may use does not hang on the cluster.
var environmentVersion = version.MajorMinor(1, 30)

// Environment is what expressions may use: the functions that expressions in
// Kubernetes have, and variables. It is safe for concurrent use.
type Environment struct {
	env *cel.Env
}

// NewEnvironment has variables of any type. It is not cheap: make one for all
// expressions that have the same variables.
func NewEnvironment(variables ...string) (*Environment, error) {
	options := make([]cel.EnvOption, len(variables))
	for i, name := range variables {
		options[i] = cel.Variable(name, cel.DynType)
	}
	set, err := environment.MustBaseEnvSet(environmentVersion).Extend(environment.VersionedOptions{
		IntroducedVersion: environmentVersion,
		EnvOptions:        options,
	})
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	env, err := set.Env(environment.StoredExpressions)
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	return &Environment{env}, nil
}

// Parse says what is wrong with the syntax of an expression.
func (e *Environment) Parse(text string) error {
	_, issues := e.env.Parse(text)
	return issues.Err()
}

// Condition is an expression that is true or false. It is safe for concurrent use.
type Condition struct {
	text    string
	program cel.Program
}

// Condition compiles an expression that is true or false.
func (e *Environment) Condition(text string) (*Condition, error) {
	program, err := e.compile(text, cel.BoolType, "true or false")
	if err != nil {
		return nil, err
	}
	return &Condition{text, program}, nil
}

// Eval is the value of the condition. What it may cost is bounded.
func (c *Condition) Eval(variables map[string]any) (bool, error) {
	return eval[bool](c.text, c.program, variables, "true or false")
}

// Text is an expression whose value is text. It is safe for concurrent use.
type Text struct {
	text    string
	program cel.Program
}

// Text compiles an expression whose value is text.
func (e *Environment) Text(text string) (*Text, error) {
	program, err := e.compile(text, cel.StringType, "text")
	if err != nil {
		return nil, err
	}
	return &Text{text, program}, nil
}

// Eval is the text. What it may cost is bounded.
func (t *Text) Eval(variables map[string]any) (string, error) {
	return eval[string](t.text, t.program, variables, "text")
}

func (e *Environment) compile(text string, want *cel.Type, wanted string) (cel.Program, error) {
	ast, issues := e.env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if ast.OutputType() != want && ast.OutputType() != cel.DynType {
		return nil, fmt.Errorf("must be %s, and is a %s", wanted, ast.OutputType())
	}
	return e.env.Program(ast, cel.CostLimit(apiservercel.PerCallLimit), cel.EvalOptions(cel.OptOptimize))
}

func eval[T any](text string, program cel.Program, variables map[string]any, wanted string) (T, error) {
	var none T
	out, _, err := program.Eval(variables)
	if err != nil {
		return none, fmt.Errorf("evaluate %q: %w", text, err)
	}
	value, ok := out.Value().(T)
	if !ok {
		return none, fmt.Errorf("the value of %s is not %s", text, wanted)
	}
	return value, nil
}
