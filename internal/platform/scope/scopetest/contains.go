// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scopetest has a second, slow and plain implementation of what a scope
// means, and random scopes and namespaces to hold the fast one against it, in
// process and on a real API server. For tests only.
package scopetest

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Labels returns the labels of a namespace with the one that the API server
// keeps on it.
func Labels(name string, others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, others)
	all[corev1.LabelMetadataName] = name
	return all
}

// Contains says whether the namespace is in every one of the scopes, which must
// be valid.
func Contains(name string, namespaceLabels map[string]string, scopes ...configv1alpha1.Scope) bool {
	for _, scope := range scopes {
		if name != "" && !(containsName(scope.Namespaces, name) && containsLabels(scope.NamespaceSelector, namespaceLabels)) {
			return false
		}
	}
	return true
}

func containsName(items []string, name string) bool {
	anySelects, selected := false, false
	for _, item := range items {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if excluded, found := strings.CutPrefix(item, "!"); found {
			if matches(strings.TrimSpace(excluded), name) {
				return false
			}
			continue
		}
		anySelects = true
		selected = selected || matches(item, name)
	}
	return selected || !anySelects
}

func matches(item, name string) bool {
	if expression, found := strings.CutPrefix(item, "re:"); found {
		re := regexp.MustCompile(strings.TrimSpace(expression))
		re.Longest()
		for _, at := range re.FindAllStringIndex(name, -1) {
			if at[0] == 0 && at[1] == len(name) {
				return true
			}
		}
		return false
	}
	return matchesGlob([]rune(item), []rune(name))
}

// matchesGlob keeps, for every beginning of the name, whether the pattern so far
// matches it.
func matchesGlob(glob, name []rune) bool {
	reached := make([]bool, len(name)+1)
	reached[0] = true
	for _, symbol := range glob {
		next := make([]bool, len(name)+1)
		next[0] = symbol == '*' && reached[0]
		for i, r := range name {
			switch symbol {
			case '*':
				next[i+1] = reached[i+1] || next[i]
			case '?':
				next[i+1] = reached[i]
			default:
				next[i+1] = reached[i] && r == symbol
			}
		}
		reached = next
	}
	return reached[len(name)]
}

func containsLabels(selector *metav1.LabelSelector, namespaceLabels map[string]string) bool {
	if selector == nil {
		return true
	}
	for key, want := range selector.MatchLabels {
		if value, found := namespaceLabels[key]; !found || value != want {
			return false
		}
	}
	for _, expression := range selector.MatchExpressions {
		value, found := namespaceLabels[expression.Key]
		listed := found && slices.Contains(expression.Values, value)
		holds := map[metav1.LabelSelectorOperator]bool{
			metav1.LabelSelectorOpIn:           listed,
			metav1.LabelSelectorOpNotIn:        !listed,
			metav1.LabelSelectorOpExists:       found,
			metav1.LabelSelectorOpDoesNotExist: !found,
		}
		if !holds[expression.Operator] {
			return false
		}
	}
	return true
}
