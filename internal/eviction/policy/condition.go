// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// condition is a CEL expression about a pod.
type condition struct {
	text    string
	program cel.Program
}

// environmentVersion is the oldest Kubernetes that Holdfast runs on: what an
// expression may use does not hang on the cluster.
var environmentVersion = version.MajorMinor(1, 30)

// celEnvironment has the functions that expressions in Kubernetes have.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environmentVersion).Extend(environment.VersionedOptions{
		IntroducedVersion: environmentVersion,
		EnvOptions: []cel.EnvOption{
			cel.Variable("pod", cel.DynType),
			cel.Variable("request", cel.DynType),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	return set.Env(environment.StoredExpressions)
})

func newCondition(text string) (*condition, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if ast.OutputType() != cel.BoolType && ast.OutputType() != cel.DynType {
		return nil, fmt.Errorf("must be true or false, and is a %s", ast.OutputType())
	}
	program, err := env.Program(ast, cel.CostLimit(apiservercel.PerCallLimit), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return &condition{text, program}, nil
}

// holds evaluates the condition.
func (c *condition) holds(f Facts) (bool, error) {
	pod, err := runtime.DefaultUnstructuredConverter.ToUnstructured(f.Pod)
	if err != nil {
		return false, fmt.Errorf("convert pod: %w", err)
	}
	// So that an expression need not ask whether there are any.
	if meta, ok := pod["metadata"].(map[string]any); ok {
		for _, name := range []string{"labels", "annotations"} {
			if _, ok := meta[name]; !ok {
				meta[name] = map[string]any{}
			}
		}
	}
	groups := make([]any, len(f.Request.Groups))
	for i, g := range f.Request.Groups {
		groups[i] = g
	}
	out, _, err := c.program.Eval(map[string]any{
		"pod": pod,
		"request": map[string]any{
			"username": f.Request.User, "groups": groups, "dryRun": f.Request.DryRun,
			"namespace": f.Request.Namespace, "name": f.Request.Name,
		},
	})
	if err != nil {
		return false, fmt.Errorf("evaluate %q: %w", c.text, err)
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, errors.New("the value of " + c.text + " is not true or false")
	}
	return b, nil
}
