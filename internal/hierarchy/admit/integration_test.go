// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import "testing"

// TestIntegration runs everything that needs an API server on one.
func TestIntegration(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	t.Run("up", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *server){
			"copies": testCopies, "new copies": testNewCopies, "weak point 7: quotas of trees": testQuotas,
			"namespaces": testNamespaceLabels, "new namespaces": testNewNamespaces, "hierarchies": testHierarchies,
			"anchors": testAnchors, "configurations": testConfigurations, "deletions": testDeletions, "sources": testSources, "self": testSelf, "large": testLarge, "types": testTypes,
			"the same of namespaces": testSameOfNamespaces, "the same of objects": testSameOfObjects,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	})
	// One after the other: they count calls, and end them.
	t.Run("cost", func(t *testing.T) { testCost(t, s) })
	t.Run("down", func(t *testing.T) { testOutage(t, s) })
	t.Run("stopped", func(t *testing.T) { testMutatingIsOwned(t, s) })
}
