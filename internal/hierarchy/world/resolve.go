// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Resource is an entry of the HNCConfiguration, or one that is always there, and
// what the API server has for it.
type Resource struct {
	hncv1alpha2.ResourceSpec
	// Kind is what it means, if Problem is empty.
	Kind inventory.Kind
	// Problem is the reason of a condition, and Message what it says.
	Problem, Message string
}

// enforced are always copied.
var enforced = []hncv1alpha2.ResourceSpec{
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Mode: hncv1alpha2.ModePropagate},
	{Group: "rbac.authorization.k8s.io", Resource: "roles", Mode: hncv1alpha2.ModePropagate},
}

// Resolve finds what the entries of an HNCConfiguration mean. Roles and
// RoleBindings come first; the others as they stand. Of several entries for one
// kind the first counts, and the others are a problem.
func Resolve(kinds *inventory.Snapshot, specs []hncv1alpha2.ResourceSpec) []Resource {
	seen := map[schema.GroupKind]bool{}
	out := make([]Resource, 0, len(enforced)+len(specs))
	for _, spec := range slices.Concat(enforced, specs) {
		r := Resource{ResourceSpec: spec}
		if r.Mode == "" {
			r.Mode = hncv1alpha2.ModePropagate
		}
		kind, found := Find(kinds, spec.Group, spec.Resource)
		switch text := (schema.GroupResource{Group: spec.Group, Resource: spec.Resource}).String(); {
		case !found:
			r.Problem, r.Message = hncv1alpha2.ReasonResourceNotFound, fmt.Sprintf("the API server serves no resource %s", text)
		case !kind.Namespaced:
			r.Problem, r.Message = hncv1alpha2.ReasonResourceNotNamespaced, fmt.Sprintf("the resource %s is not in namespaces", text)
		case seen[kind.GroupKind()]:
			r.Problem, r.Message = hncv1alpha2.ReasonMultipleConfigurations, fmt.Sprintf("the resource %s is configured more than once: the first entry counts", text)
		case !kind.Can("list", "watch", "create", "update", "delete"):
			r.Problem, r.Message = hncv1alpha2.ReasonUnknown, fmt.Sprintf("objects of %s cannot be listed, watched and written", text)
		default:
			seen[kind.GroupKind()] = true
			r.Kind = kind
		}
		out = append(out, r)
	}
	return out
}

// Find finds a resource as people write it: with or without its group, in the
// plural or the singular.
func Find(kinds *inventory.Snapshot, group, resource string) (inventory.Kind, bool) {
	if kinds == nil {
		return inventory.Kind{}, false
	}
	resource = strings.ToLower(resource)
	if k, ok := kinds.ByResource(schema.GroupResource{Group: group, Resource: resource}); ok {
		return k, true
	}
	for _, k := range kinds.All() {
		if (k.Resource.Resource == resource || strings.EqualFold(k.Kind, resource)) && (group == "" || k.Resource.Group == group) {
			return k, true
		}
	}
	return inventory.Kind{}, false
}
