// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scopetest

import (
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// The vocabulary is small so that scopes and names meet often.
var (
	names = []string{
		"kafka", "kafka-prod", "kafka-dev", "kafka-dev-2", "team-a", "team-b", "team-ab", "a", "b-1", "kube-system", "default",
	}
	patterns = []string{
		"kafka", "team-a", "kube-system", "a", "default", "not-there",
		"*", "kafka-*", "kafka*", "*-dev*", "team-?", "?", "*-*",
		`re:kafka(-.*)?`, `re:team-[ab]`, `re:a|b-\d`, `re:.*`, `re:(?i)KAFKA`, `re:^kube-\w+$`, `re:[^"'\\]+`, `re:a|`, `re:(?P<n>a)`,
		"", "  ", " kafka ",
	}
	values = []string{"prod", "dev", ""}
	keys   = []string{"env", "example.com/tier"}
)

// Scope returns a valid scope.
func Scope(random *rand.Rand) configv1alpha1.Scope {
	var scope configv1alpha1.Scope
	for range random.IntN(5) {
		item := pick(random, patterns)
		if random.IntN(3) == 0 && item != "" && item != "  " {
			item = "!" + item
		}
		scope.Namespaces = append(scope.Namespaces, item)
	}
	if random.IntN(3) == 0 {
		scope.NamespaceSelector = selector(random)
	}
	return scope
}

// Namespace returns the name and the labels of a namespace.
func Namespace(random *rand.Rand) (name string, labels map[string]string) {
	name = pick(random, names)
	labels = map[string]string{}
	for _, key := range keys {
		if random.IntN(2) == 0 {
			labels[key] = pick(random, values)
		}
	}
	return name, Labels(name, labels)
}

func selector(random *rand.Rand) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if random.IntN(2) == 0 {
		s.MatchLabels = map[string]string{pick(random, keys): pick(random, values)}
	}
	switch random.IntN(5) {
	case 0:
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: pick(random, keys), Operator: metav1.LabelSelectorOpIn, Values: []string{pick(random, values), "prod"},
		})
	case 1:
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: pick(random, keys), Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick(random, values)},
		})
	case 2:
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: pick(random, keys), Operator: metav1.LabelSelectorOpExists,
		})
	case 3:
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: pick(random, keys), Operator: metav1.LabelSelectorOpDoesNotExist,
		})
	}
	return s
}

func pick(random *rand.Rand, from []string) string {
	return from[random.IntN(len(from))]
}
