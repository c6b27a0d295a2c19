// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Policy is a compiled EvictionPolicy. It does not change once made and is safe
// for concurrent use.
type Policy struct {
	Name     string
	Priority int32
	Mode     configv1alpha1.Mode

	namespaces        scope.Scope
	namespaceSelector labels.Selector
	pods              labels.Selector
	labels            []pattern
	annotations       []pattern
	owners            []v1alpha1.OwnerKind
	draining          bool
	elsewhere         v1alpha1.ElsewhereVerdict
	condition         *condition

	action   v1alpha1.EvictionAction
	verdict  v1alpha1.EvictionVerdict
	until    *condition
	deadline time.Duration
	overdue  v1alpha1.OverdueVerdict
	onError  OnError
}

// pattern is a regular expression for the value of a key.
type pattern struct {
	key   string
	value *regexp.Regexp
}

func (p pattern) matches(values map[string]string) bool {
	v, ok := values[p.key]
	return ok && p.value.MatchString(v)
}

// Compile makes a Policy. The errors have field paths; the API server has not
// found them, because a schema cannot.
func Compile(in *v1alpha1.EvictionPolicy) (*Policy, field.ErrorList) {
	spec, path := in.Spec.DeepCopy(), field.NewPath("spec")
	p := &Policy{
		Name: in.Name, Priority: spec.Priority,
		Mode:      cmp.Or(configv1alpha1.Mode(spec.Mode), configv1alpha1.ModeEnforce),
		owners:    spec.Match.OwnerKinds,
		draining:  spec.Match.Node == v1alpha1.NodeDraining,
		elsewhere: cmp.Or(spec.Match.Elsewhere, v1alpha1.ElsewhereNotFound),
		action:    spec.Action, verdict: spec.Verdict,
		onError: Refuse,
	}
	p.verdict.Code = cmp.Or(p.verdict.Code, 429)
	if spec.OnError == v1alpha1.OnErrorAllow {
		p.onError = Allow
	}
	if d := spec.Deadline; d != nil {
		p.deadline, p.overdue = d.After.Duration, cmp.Or(d.Then, v1alpha1.OverdueAllow)
	}
	problems := p.compileMatch(&spec.Match, path.Child("match"))
	problems = append(problems, validateAction(&spec.Action, path.Child("action"))...)
	if spec.Verdict.Until != "" {
		var err error
		if p.until, err = newCondition(spec.Verdict.Until); err != nil {
			problems = append(problems, field.Invalid(path.Child("verdict", "until"), spec.Verdict.Until, err.Error()))
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

func (p *Policy) compileMatch(m *v1alpha1.EvictionMatch, path *field.Path) field.ErrorList {
	where := configv1alpha1.Scope{Namespaces: m.Namespaces}
	problems := scope.Validate(where, path)
	if len(problems) == 0 {
		p.namespaces, _ = scope.Compile(where) // it is valid
	}
	selector := func(name string, s *metav1.LabelSelector) labels.Selector {
		if s == nil {
			return nil
		}
		problems = append(problems, validation.ValidateLabelSelector(s, validation.LabelSelectorValidationOptions{}, path.Child(name))...)
		compiled, _ := metav1.LabelSelectorAsSelector(s) // what is wrong is among the problems
		return compiled
	}
	p.namespaceSelector = selector("namespaceSelector", m.NamespaceSelector)
	p.pods = selector("podSelector", m.PodSelector)
	patterns := func(name string, in map[string]v1alpha1.Pattern) []pattern {
		out, errs := compilePatterns(in, path.Child(name))
		problems = append(problems, errs...)
		return out
	}
	p.labels = patterns("labelPatterns", m.LabelPatterns)
	p.annotations = patterns("annotationPatterns", m.AnnotationPatterns)
	if m.Condition != "" {
		var err error
		if p.condition, err = newCondition(m.Condition); err != nil {
			problems = append(problems, field.Invalid(path.Child("condition"), m.Condition, err.Error()))
		}
	}
	return problems
}

func compilePatterns(in map[string]v1alpha1.Pattern, path *field.Path) (out []pattern, problems field.ErrorList) {
	for key, text := range in {
		for _, mistake := range utilvalidation.IsQualifiedName(key) {
			problems = append(problems, field.Invalid(path.Key(key), key, mistake))
		}
		// Alone first: in the group around it "a)|(?:b" would be one, and match parts.
		_, err := regexp.Compile(string(text))
		if err != nil {
			problems = append(problems, field.Invalid(path.Key(key), string(text), "must be a regular expression in the syntax of RE2: "+err.Error()))
			continue
		}
		out = append(out, pattern{key, regexp.MustCompile(`^(?:` + string(text) + `)$`)})
	}
	slices.SortFunc(out, func(a, b pattern) int { return strings.Compare(a.key, b.key) })
	return out, problems
}

// validateAction finds what the API server would refuse when the action is taken,
// and what would undo Holdfast's own bookkeeping.
func validateAction(a *v1alpha1.EvictionAction, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	keys := func(name string, in map[string]string) {
		for key, value := range in {
			at := path.Child(name).Key(key)
			for _, mistake := range utilvalidation.IsQualifiedName(key) {
				problems = append(problems, field.Invalid(at, key, mistake))
			}
			if name == "labels" {
				for _, mistake := range utilvalidation.IsValidLabelValue(value) {
					problems = append(problems, field.Invalid(at, value, mistake))
				}
			}
			if strings.HasPrefix(key, v1alpha1.GroupName+"/") {
				problems = append(problems, field.Forbidden(at, fmt.Sprintf("keys below %s/ are Holdfast's own", v1alpha1.GroupName)))
			}
		}
	}
	keys("annotations", a.Annotations)
	keys("labels", a.Labels)
	return problems
}

// Sort puts policies into the order in which they are held against a pod: the
// highest priority first, of equals the first by name.
func Sort(policies []*Policy) {
	slices.SortFunc(policies, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
	})
}

// ByLabels says whether the policy asks for labels of namespaces.
func (p *Policy) ByLabels() bool { return p.namespaceSelector != nil }

// Forget is how long nobody has to ask for a pod until its deadline counts anew.
func (p *Policy) Forget() time.Duration { return max(p.deadline, minForget) }
