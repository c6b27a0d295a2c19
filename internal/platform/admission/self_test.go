// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// An update that is none of Holdfast's business must not be evaluated: ConfigMaps are written all
// the time, and CustomResourceDefinitions are not. A deletion must be, whatever its name: that of a collection has none.
func TestSelf_namesWhatIsUpdatedAndNothingThatIsDeleted(t *testing.T) {
	t.Parallel()
	for _, configMap := range []string{"", "holdfast"} {
		p := Self{Namespace: "holdfast-system", ConfigMap: configMap}.Policy()
		for _, r := range p.Spec.MatchConstraints.ResourceRules {
			if slices.Contains(r.Resources, "customresourcedefinitions") {
				continue
			}
			updates, deletes := slices.Contains(r.Operations, admissionregistrationv1.Update), slices.Contains(r.Operations, admissionregistrationv1.Delete)
			if named := len(r.ResourceNames) > 0; updates && !named || deletes && named || slices.Contains(r.ResourceNames, "") {
				t.Errorf("with the ConfigMap %q: %v of %v, named %q", configMap, r.Operations, r.Resources, r.ResourceNames)
			}
		}
	}
}
