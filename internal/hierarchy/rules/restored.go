// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// RestoredLabels returns, sorted, the labels that a new namespace must not be created with because the policies and the
// users of a cluster trust them: those that say where it stands in a tree, and those that say whether it is managed
// where they are wrong. A backup or an export has them. Name is empty while the API server has not generated it.
func (w World) RestoredLabels(name string, labels map[string]string) (out []string) {
	for key, value := range labels {
		var drop bool
		switch {
		case strings.Contains(key, hncv1alpha2.LabelTreeDepthSuffix), key == v1alpha1.HasSubnamespacesMark:
			drop = true
		case key == hncv1alpha2.LabelIncludedNamespace:
			drop = name != "" && !(w.managed(name) && value == hncv1alpha2.ValueTrue)
		case key == hncv1alpha2.LabelExcludedNamespace:
			drop = name != "" && !(w.Excluded != nil && w.Excluded(name))
		}
		if drop {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
