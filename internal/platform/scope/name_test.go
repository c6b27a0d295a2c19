// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/cel-go/cel"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope/scopetest"
)

func TestScope_NameExpression(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		scopes []configv1alpha1.Scope
		want   string
	}{
		{name: "everything", want: `true`},
		{name: "some names", scopes: []configv1alpha1.Scope{namespaces("b,a")}, want: `n in ["a", "b"]`},
		{name: "all but some", scopes: []configv1alpha1.Scope{namespaces("!b,!a")}, want: `!(n in ["a", "b"])`},
		{
			name: "patterns of two scopes", scopes: []configv1alpha1.Scope{namespaces("re:t-.*,x"), namespaces("!re:.*-y,!z")},
			want: `(n in ["x"] || n.matches("^(?:t-.*)$")) && !(n in ["z"] || n.matches("^(?:.*-y)$"))`,
		},
		{name: "nothing", scopes: []configv1alpha1.Scope{namespaces("a"), namespaces("b")}, want: `n in []`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := mustCompile(t, tt.scopes...).NameExpression("n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestScope_NameExpression_meansTheSame evaluates the expressions of random scopes.
func TestScope_NameExpression_meansTheSame(t *testing.T) {
	t.Parallel()
	env, err := cel.NewEnv(cel.Variable("n", cel.StringType))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		compiled := mustCompile(t, scopetest.Scope(random), scopetest.Scope(random))
		expression := compiled.NameExpression("n")
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatalf("%s: %v", expression, issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			name, _ := scopetest.Namespace(random)
			if name == "" {
				continue
			}
			got, _, err := program.Eval(map[string]any{"n": name})
			if err != nil {
				t.Fatalf("%s of %q: %v", expression, name, err)
			}
			if want := compiled.MatchesName(name); got.Value() != want {
				t.Fatalf("%s of %q: got %v, want %t", expression, name, got, want)
			}
		}
	}
}
