// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
)

// Resource is an entry of an HNCConfiguration, and what the API server says of it.
type Resource struct {
	hncv1alpha2.ResourceSpec
	// Served says that there is such a resource; then Kind is its kind, and
	// Namespaced says whether its objects are in namespaces.
	Served, Namespaced bool
	Kind               schema.GroupKind
	// Candidates are the resources that can be meant where there are several.
	Candidates string
}

func (r Resource) text() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// unknown says of one that is not served, or of which several are, what is wrong.
func (r Resource) unknown() Verdict {
	if r.Candidates != "" {
		return invalid("the resource %s is in several groups: say which of %s", r.text(), r.Candidates)
	}
	return invalid("there is no resource %s", r.text())
}

// HNCConfiguration decides on the configuration of what is propagated. The sources
// are those of the kinds that it would propagate, under the Rules that it makes.
func (w World) HNCConfiguration(op Operation, name string, resources []Resource, sources *propagate.Sources) Verdict {
	if op == Delete {
		if name == hncv1alpha2.HNCConfigurationName {
			return forbidden("the HNCConfiguration %q cannot be deleted; take the resources out of it instead", name)
		}
		return allowed
	}
	seen := map[schema.GroupKind]string{}
	for _, r := range resources {
		switch before, twice := seen[r.Kind]; {
		case !r.Served:
			return r.unknown()
		case !r.Namespaced:
			return invalid("the resource %s is not in namespaces, so it cannot be propagated", r.text())
		case propagate.Enforced(r.Kind):
			return invalid("the resource %s is always propagated, and cannot be configured", r.text())
		case twice:
			return invalid("the resources %s and %s are the same", before, r.text())
		}
		seen[r.Kind] = r.text()
	}
	var lost []string
	for _, r := range resources {
		if w.Sources.Rules().Copies(r.Kind) {
			continue // it is propagated already
		}
		for _, c := range sources.Conflicts(w.Tree, r.Kind) {
			lost = append(lost, c.Kind.Kind+" "+c.Namespace+"/"+c.Name+" by that in "+c.By)
		}
	}
	if len(lost) > 0 {
		return conflict("objects from above would take the place of others: %s", strings.Join(lost, ", "))
	}
	return allowed
}

// Unreadable refuses a configuration that lists a kind which Holdfast may not list: the conflicts with objects that exist cannot
// be known.
func Unreadable(why string) Verdict {
	return forbidden("%s, and try again", why)
}

// ExcludedNamespaces decides on what an HNCConfiguration adds to the list of excluded
// namespaces.
func ExcludedNamespaces(names []string) Verdict {
	for _, name := range names {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return invalid("%q is no name of a namespace: %s", name, strings.Join(problems, "; "))
		}
	}
	return allowed
}
