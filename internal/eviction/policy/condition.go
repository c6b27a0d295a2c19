// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// condition is a CEL expression about a pod.
type condition struct {
	expression *cel.Condition
}

var celEnvironment = sync.OnceValues(func() (*cel.Environment, error) { return cel.NewEnvironment("pod", "request") })

func newCondition(text string) (*condition, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	expression, err := env.Condition(text)
	if err != nil {
		return nil, err
	}
	return &condition{expression}, nil
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
	return c.expression.Eval(map[string]any{
		"pod": pod,
		"request": map[string]any{
			"username": f.Request.User, "groups": groups, "dryRun": f.Request.DryRun,
			"namespace": f.Request.Namespace, "name": f.Request.Name,
		},
	})
}
