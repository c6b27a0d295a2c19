// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// part is one configured scope.
type part struct {
	// selected are the patterns of which one must match; none stands for all.
	selected patternSet
	// excluded are the patterns of which none may match.
	excluded patternSet
	// labels must match too; it is never nil.
	labels labels.Selector
	// requirements say the same as labels.
	requirements []metav1.LabelSelectorRequirement
}

// maxPatterns is how many globs and regular expressions a scope may have. Each is compiled, which takes a kilobyte and more, and each
// request from a namespace that none matches is held against all.
const maxPatterns = 1000

func newPart(scope configv1alpha1.Scope, path *field.Path) (part, field.ErrorList) {
	p := part{labels: labels.Everything()}
	var errs field.ErrorList

	if n := countPatterns(scope.Namespaces); n > maxPatterns {
		return p, field.ErrorList{field.Invalid(path.Child("namespaces"), field.OmitValueType{}, fmt.Sprintf(
			"has %d patterns, at most %d can be used: use fewer patterns, exact names, or a label and namespaceSelector", n, maxPatterns))}
	}
	for i, item := range scope.Namespaces {
		pat, excludes, err := parseItem(item)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(path.Child("namespaces").Index(i), item, err.Error()))
		case pat.blank():
		case excludes:
			p.excluded.add(pat)
		default:
			p.selected.add(pat)
		}
	}
	if p.selected.matchesAll() {
		p.selected = patternSet{}
	}

	selectorErrs := p.setLabels(scope.NamespaceSelector, path.Child("namespaceSelector"))
	return p, append(errs, selectorErrs...)
}

// countPatterns counts the items of a list that are no exact names.
func countPatterns(items []string) (n int) {
	for _, item := range items {
		if strings.ContainsAny(item, wildcards) || strings.Contains(item, regexpPrefix) {
			n++
		}
	}
	return n
}

func (p *part) setLabels(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{}, path)
	if len(errs) > 0 {
		return errs
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(path, selector, err.Error())}
	}
	p.labels = compiled
	p.requirements = requirementsOf(selector)
	return nil
}

// requirementsOf writes matchLabels as expressions as well: two scopes may ask
// for different values of one label, which a map could not hold.
func requirementsOf(selector *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	requirements := make([]metav1.LabelSelectorRequirement, 0, len(selector.MatchLabels)+len(selector.MatchExpressions))
	for key, value := range selector.MatchLabels {
		requirements = append(requirements, metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
		})
	}
	for i := range selector.MatchExpressions {
		requirements = append(requirements, *selector.MatchExpressions[i].DeepCopy())
	}
	return requirements
}

func (p *part) matchesName(name string) bool {
	if p.excluded.has(name) {
		return false
	}
	return p.selected.empty() || p.selected.has(name)
}

// restricts says whether the part leaves anything out.
func (p *part) restricts() bool {
	return !p.selected.empty() || !p.excluded.empty() || !p.labels.Empty()
}

func (p *part) excludesAll() bool {
	return p.excluded.matchesAll()
}

// listsNames says whether only names written out in full are selected.
func (p *part) listsNames() bool {
	return len(p.selected.exact) > 0 && len(p.selected.patterns) == 0
}
