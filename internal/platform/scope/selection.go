// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Selection is a scope in the terms of an admission object: a request is in if
// the selector and every condition hold. It is the same, in every byte, for
// every order in which the scope was written.
type Selection struct {
	// NamespaceSelector is about names written out in full, by the immutable
	// label kubernetes.io/metadata.name, and about the labels that were asked
	// for. Nil selects all.
	NamespaceSelector *metav1.LabelSelector

	// MatchConditions are about globs and regular expressions, at most two for
	// each scope that was compiled. All of them pass what has no namespace. The
	// API server allows 64 per object.
	MatchConditions []admissionregistrationv1.MatchCondition

	// Residual says that the scope is narrower than this selection, because a
	// condition would have been longer than the API server takes. A webhook
	// then asks Scope.Matches; a policy cannot hold the scope.
	Residual bool
}

// Selection returns the scope for an admission object.
func (s Scope) Selection() Selection {
	var selection Selection
	if s.names == nil {
		for i := range s.parts {
			conditions, complete := conditionsFor(i, &s.parts[i])
			selection.MatchConditions = append(selection.MatchConditions, conditions...)
			selection.Residual = selection.Residual || !complete
		}
	}
	if requirements := s.requirements(); len(requirements) > 0 {
		selection.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: requirements}
	}
	return selection
}

// LabelSelection returns the part of the scope that is about labels of namespaces,
// for a webhook whose handler asks Scope.MatchesName for the rest.
func (s Scope) LabelSelection() Selection {
	requirements := s.withLabels(nil)
	if len(requirements) == 0 {
		return Selection{}
	}
	return Selection{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: requirements}}
}

// requirements are everything that a selector can say, sorted.
func (s Scope) requirements() []metav1.LabelSelectorRequirement {
	return s.withLabels(s.nameRequirements())
}

// withLabels adds what is asked of the labels of namespaces, and sorts.
func (s Scope) withLabels(requirements []metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement {
	for i := range s.parts {
		for _, requirement := range s.parts[i].requirements {
			values := sets.New(requirement.Values...)
			requirement.Values = nil
			if len(values) > 0 {
				requirement.Values = sets.List(values)
			}
			requirements = append(requirements, requirement)
		}
	}
	slices.SortFunc(requirements, func(a, b metav1.LabelSelectorRequirement) int {
		return strings.Compare(requirementKey(a), requirementKey(b))
	})
	return slices.CompactFunc(requirements, func(a, b metav1.LabelSelectorRequirement) bool {
		return requirementKey(a) == requirementKey(b)
	})
}

func (s Scope) nameRequirements() []metav1.LabelSelectorRequirement {
	if s.names != nil {
		return []metav1.LabelSelectorRequirement{oneOf(s.names)}
	}
	excluded := sets.Set[string]{}
	for i := range s.parts {
		excluded = excluded.Union(s.parts[i].excluded.exact)
	}
	if len(excluded) == 0 {
		return nil
	}
	return []metav1.LabelSelectorRequirement{{
		Key:      corev1.LabelMetadataName,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   sets.List(excluded),
	}}
}

// oneOf asks for one of the names. None at all is written as the absence of a
// label that every namespace has, because In wants at least one value.
func oneOf(names sets.Set[string]) metav1.LabelSelectorRequirement {
	if len(names) == 0 {
		return metav1.LabelSelectorRequirement{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpDoesNotExist,
		}
	}
	return metav1.LabelSelectorRequirement{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: sets.List(names),
	}
}

func requirementKey(r metav1.LabelSelectorRequirement) string {
	return fmt.Sprintf("%s %s %q", r.Key, r.Operator, r.Values)
}
