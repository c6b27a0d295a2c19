// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// carried are the protecting labels that an object carries, whatever their
// values, in the order of the keys.
func carried(o *metav1.PartialObjectMetadata) []string {
	var out []string
	for _, k := range allKeys() {
		if _, ok := o.Labels[k.Label]; ok {
			out = append(out, k.Label)
		}
	}
	return out
}

// protectChange sets the strict label. A value that means nothing is mended.
func protectChange(t target) (set map[string]any, outcome string) {
	if t.meta.Labels[v1alpha1.DeletionProtectedLabel] == v1alpha1.ProtectAlways {
		return nil, "already protected"
	}
	return map[string]any{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}, "protected"
}

// unprotectChange takes every protecting label away: with one of them left the
// object would stay protected. Values that do not protect go too, so that the
// object is not listed any more; a value that means nothing here may still mean
// something to the tool that the label comes from.
func unprotectChange(t target) (set map[string]any, outcome string) {
	found := carried(t.meta)
	if len(found) == 0 {
		return nil, "not protected"
	}
	set, outcome = map[string]any{}, "unprotected"
	var upstream []string
	for _, label := range found {
		set[label] = nil
		if label != v1alpha1.DeletionProtectedLabel {
			upstream = append(upstream, label)
		}
	}
	if len(upstream) > 0 {
		outcome += " (removed " + strings.Join(found, ", ") + ")"
	}
	return set, outcome
}
