// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// events end by themselves; no mark and no protection makes sense for them.
var events = sets.New(
	schema.GroupResource{Resource: "events"},
	schema.GroupResource{Group: "events.k8s.io", Resource: "events"},
)

// Guarded says whether the deletion guard can protect objects of a kind: it must
// be possible to watch, mark and delete them.
func Guarded(k inventory.Kind) bool {
	return !events.Has(k.GroupResource()) && !policy.BeyondAdmission(k.GroupResource()) && k.Can("list", "watch", "patch", "delete")
}

// wantedSources are what has to be watched: of a kind that a protection names
// every object, of any other kind those that carry a label that protects or a
// mark. What extension API servers serve is looked at only where a protection
// names it: one that does not answer must not hold up anything else.
func wantedSources(kinds *inventory.Snapshot, rules policy.Rules, protections *selection.Set) map[inventory.Source]inventory.Kind {
	labels := []string{v1alpha1.MarkedLabel}
	for _, k := range rules.Labels() {
		labels = append(labels, k.Label)
	}
	out := map[inventory.Source]inventory.Kind{}
	for _, k := range kinds.All() {
		switch {
		case !Guarded(k):
		case k.Resource == namespaces, k.Resource == inventory.CRDs, k.Resource == inventory.APIServices, protections.Names(k.GroupKind()):
			out[inventory.Source{Resource: k.Resource}] = k
		case !k.Aggregated:
			for _, l := range labels {
				out[inventory.Source{Resource: k.Resource, Label: l}] = k
			}
		}
	}
	return out
}
