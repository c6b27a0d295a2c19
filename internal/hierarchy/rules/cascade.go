// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	holdfastv1alpha1 "github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// protects are labels of which every namespace has one that may not be deleted, but
// for what was protected in the last moment.
var protects = []string{
	holdfastv1alpha1.MarkedLabel, holdfastv1alpha1.DeletionProtectedLabel,
	holdfastv1alpha1.KarmadaDeletionProtectedLabel, holdfastv1alpha1.KruiseDeletionProtectionLabel,
}

// mostAsked bounds how many namespaces are asked about for one request: the answer
// looks at all that is in one. The others are asked about when their turn comes.
const mostAsked = 20

// cascade is the subnamespaces that go with a namespace, because their anchors do, as
// far as one of them may be protected. What is below a child of another sort stays.
func (w World) cascade(name string) []string {
	var out []string
	all := []string{name}
	for i := 0; i < len(all); i++ {
		for _, c := range w.Tree.Get(all[i]).Children {
			if !w.DeletesSubnamespace(all[i], c) || slices.Contains(all, c) {
				continue
			}
			all = append(all, c)
			if w.mayBeProtected(c) {
				out = append(out, c)
			}
			if len(out) == mostAsked {
				return out
			}
		}
	}
	return out
}

func (w World) mayBeProtected(name string) bool {
	labels := w.Tree.Get(name).Labels
	return slices.ContainsFunc(protects, func(key string) bool { _, has := labels[key]; return has })
}
