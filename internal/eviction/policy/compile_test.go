// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestCompile_mistakes(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		want       []string // each problem begins so, in the order of their paths
	}{
		{name: "none", spec: `{"match":{"podSelector":{}},` + deny + `}`},
		{name: "a namespace that none can be named", spec: `{"match":{"namespaces":["A_B"],"podSelector":{}},` + deny + `}`, want: []string{"spec.match.namespaces[0]: Invalid value"}},
		{name: "a regular expression of namespaces", spec: `{"match":{"namespaces":["re:("],"podSelector":{}},` + deny + `}`, want: []string{"spec.match.namespaces[0]: Invalid value"}},
		{name: "a selector of pods", spec: `{"match":{"podSelector":{"matchLabels":{"a b":"c"}}},` + deny + `}`, want: []string{"spec.match.podSelector.matchLabels: Invalid value"}},
		{name: "an operator", spec: `{"match":{"podSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]}},` + deny + `}`, want: []string{"spec.match.podSelector.matchExpressions[0].operator: Invalid value"}},
		{name: "a selector of namespaces", spec: `{"match":{"podSelector":{},"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}},` + deny + `}`, want: []string{"spec.match.namespaceSelector.matchExpressions[0].values: Required value"}},
		{name: "a pattern of a label", spec: `{"match":{"labelPatterns":{"a":"("}},` + deny + `}`, want: []string{"spec.match.labelPatterns[a]: Invalid value"}},
		{name: "a pattern that would break out of its group", spec: `{"match":{"labelPatterns":{"a":"b)|(?:c"}},` + deny + `}`, want: []string{"spec.match.labelPatterns[a]: Invalid value"}},
		{name: "a key of a pattern", spec: `{"match":{"annotationPatterns":{"a b":".*"}},` + deny + `}`, want: []string{"spec.match.annotationPatterns[a b]: Invalid value"}},
		{name: "a condition that is no expression", spec: `{"match":{"condition":"pod."},` + deny + `}`, want: []string{"spec.match.condition: Invalid value"}},
		{name: "a condition that is a number", spec: `{"match":{"condition":"1 + 1"},` + deny + `}`, want: []string{"spec.match.condition: Invalid value"}},
		{name: "a variable that there is not", spec: `{"match":{"condition":"node.metadata.name == ''"},` + deny + `}`, want: []string{"spec.match.condition: Invalid value"}},
		{name: "an until", spec: `{"match":{"podSelector":{}},"verdict":{"type":"DenyUntil","until":"'x'","message":"m"}}`, want: []string{"spec.verdict.until: Invalid value"}},
		{name: "the key of an annotation", spec: `{"match":{"podSelector":{}},"action":{"annotations":{"a b":"c"}},` + deny + `}`, want: []string{"spec.action.annotations[a b]: Invalid value"}},
		{name: "any value of an annotation will do", spec: `{"match":{"podSelector":{}},"action":{"annotations":{"a":"{ ü }"}},` + deny + `}`},
		{name: "the value of a label", spec: `{"match":{"podSelector":{}},"action":{"labels":{"a":"b c"}},` + deny + `}`, want: []string{"spec.action.labels[a]: Invalid value"}},
		{name: "Holdfast's own annotations", spec: `{"match":{"podSelector":{}},"action":{"annotations":{"holdfast.dev/eviction-asked":"x"}},` + deny + `}`, want: []string{"spec.action.annotations[holdfast.dev/eviction-asked]: Forbidden"}},
		{name: "Holdfast's own labels", spec: `{"match":{"podSelector":{}},"action":{"labels":{"holdfast.dev/deletion-protected":"Always"}},` + deny + `}`, want: []string{"spec.action.labels[holdfast.dev/deletion-protected]: Forbidden"}},
		{
			name: "several at once", spec: `{"match":{"labelPatterns":{"a":"("},"condition":"("},"action":{"labels":{"a":"b c"}},"verdict":{"type":"DenyUntil","until":"(","message":"m"}}`,
			want: []string{"spec.match.labelPatterns[a]: Invalid value", "spec.match.condition: Invalid value", "spec.action.labels[a]: Invalid value", "spec.verdict.until: Invalid value"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &v1alpha1.EvictionPolicy{}
			if err := json.Unmarshal([]byte(tt.spec), &in.Spec); err != nil {
				t.Fatal(err)
			}
			p, problems := Compile(in)
			if (p == nil) != (len(tt.want) > 0) || len(problems) != len(tt.want) {
				t.Fatalf("got %v and %v", p, problems)
			}
			for i, problem := range problems {
				if !strings.HasPrefix(problem.Error(), tt.want[i]) {
					t.Errorf("got %s, want %s", problem, tt.want[i])
				}
			}
		})
	}
}

// What the API server would fill in is filled in here as well: a policy can be older
// than a field.
func TestCompile_defaults(t *testing.T) {
	p := compiled(t, `p: {"match":{"podSelector":{},"node":"Draining"},"deadline":{"after":"5m"},`+deny+`}`)[0]
	type defaults struct {
		Mode      configv1alpha1.Mode
		Code      int32
		OnError   OnError
		Elsewhere v1alpha1.ElsewhereVerdict
		Overdue   v1alpha1.OverdueVerdict
	}
	want := defaults{configv1alpha1.ModeEnforce, 429, Refuse, v1alpha1.ElsewhereNotFound, v1alpha1.OverdueAllow}
	if diff := cmp.Diff(want, defaults{p.Mode, p.verdict.Code, p.onError, p.elsewhere, p.overdue}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.ByLabels() {
		t.Error("it asks for labels of namespaces")
	}
}

// A compiled policy does not change with the object that it was made of.
func TestCompile_copies(t *testing.T) {
	in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	in.Spec.Match.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	in.Spec.Action.Annotations = map[string]string{"move": "please"}
	in.Spec.Verdict = v1alpha1.EvictionVerdict{Type: v1alpha1.VerdictTypeDeny, Message: "m"}
	p, problems := Compile(in)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	in.Spec.Match.PodSelector.MatchLabels["a"], in.Spec.Action.Annotations["move"] = "c", "now"
	for range 2 { // nor does deciding change it
		if diff := cmp.Diff("held, p, 429 TooManyRequests, writes move=please", brief(Decide(enforced(p), about(pod("a=b"))))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
