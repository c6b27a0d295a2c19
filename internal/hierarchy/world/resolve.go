// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
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
// kind the first counts, and the others are a problem. Meant has the groups of
// entries that say none and were resolved before, by their resource: another CRD of
// that name does not make them mean something else.
func Resolve(kinds *inventory.Snapshot, specs []hncv1alpha2.ResourceSpec, meant map[string]string) []Resource {
	seen := map[schema.GroupKind]bool{}
	out := make([]Resource, 0, len(enforced)+len(specs))
	for _, spec := range slices.Concat(enforced, specs) {
		r := Resource{ResourceSpec: spec}
		if r.Mode == "" {
			r.Mode = hncv1alpha2.ModePropagate
		}
		group := cmp.Or(spec.Group, meant[spec.Resource])
		found := Find(kinds, group, spec.Resource)
		var kind inventory.Kind
		if len(found) == 1 {
			kind = found[0]
		}
		switch text := (schema.GroupResource{Group: group, Resource: spec.Resource}).String(); {
		case len(found) == 0:
			r.Problem, r.Message = hncv1alpha2.ReasonResourceNotFound, fmt.Sprintf("the API server serves no resource %s", text)
		case len(found) > 1:
			r.Problem, r.Message = hncv1alpha2.ReasonResourceNotFound, fmt.Sprintf("the resource %s is in several groups, and the entry says none: %s", text, Names(found))
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

// meanings are the groups of the entries that say none and mean something, or did.
func meanings(resources []Resource, before map[string]string) map[string]string {
	out := map[string]string{}
	for _, r := range resources {
		if r.Group != "" {
			continue
		}
		if group, known := before[r.Resource]; known {
			out[r.Resource] = group
		} else if r.Problem == "" {
			out[r.Resource] = r.Kind.Resource.Group
		}
	}
	return out
}

// Find finds a resource as people write it: with or without its group, in the
// plural or the singular. Without a group it is that of the core group; where that
// has none, there can be several, and nobody knows which is meant.
func Find(kinds *inventory.Snapshot, group, resource string) (found []inventory.Kind) {
	if kinds == nil {
		return nil
	}
	resource = strings.ToLower(resource)
	if k, ok := kinds.ByResource(schema.GroupResource{Group: group, Resource: resource}); ok {
		return []inventory.Kind{k}
	}
	for _, k := range kinds.All() {
		switch named := k.Resource.Resource == resource || strings.EqualFold(k.Kind, resource); {
		case named && k.Resource.Group == group:
			return []inventory.Kind{k}
		case named && group == "":
			found = append(found, k)
		}
	}
	return found
}

// Names are the full names of resources.
func Names(of []inventory.Kind) string {
	var out []string
	for _, k := range of {
		out = append(out, k.GroupResource().String())
	}
	return strings.Join(out, ", ")
}
