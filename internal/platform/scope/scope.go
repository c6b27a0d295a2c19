// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Scope is a compiled set of namespaces. The zero value is all of them. It does
// not change once made and is safe for concurrent use.
type Scope struct {
	// parts are the configured scopes that leave anything out.
	parts []part
	// names are all names that pass every pattern, where that set is finite;
	// nil otherwise. It makes the common list of exact names one map look-up,
	// and one In of a selector, whatever it is crossed with.
	names sets.Set[string]
}

// Compile returns the namespaces that are in every one of the scopes; with none
// given, all. The error names every mistake with its field path, below
// scopes[i] if more than one scope was given, and says the remedy.
func Compile(scopes ...configv1alpha1.Scope) (Scope, error) {
	var compiled Scope
	var errs field.ErrorList
	for i := range scopes {
		var path *field.Path
		if len(scopes) > 1 {
			path = field.NewPath("scopes").Index(i)
		}
		p, partErrs := newPart(scopes[i], path)
		errs = append(errs, partErrs...)
		if p.restricts() {
			compiled.parts = append(compiled.parts, p)
		}
	}
	if len(errs) > 0 {
		return Scope{}, errs.ToAggregate()
	}
	compiled.names = finiteNames(compiled.parts)
	return compiled, nil
}

// Validate returns the mistakes of one configured scope, with field paths below
// path.
func Validate(scope configv1alpha1.Scope, path *field.Path) field.ErrorList {
	_, errs := newPart(scope, path)
	return errs
}

// Matches says whether the namespace is in. The labels are those that the API
// server has for it, kubernetes.io/metadata.name included. The empty name stands
// for cluster-scoped objects, which are always in.
func (s Scope) Matches(name string, namespaceLabels map[string]string) bool {
	if name == "" {
		return true
	}
	if s.names != nil {
		if !s.names.Has(name) {
			return false
		}
	} else if !matchesNames(s.parts, name) {
		return false
	}
	for i := range s.parts {
		if !s.parts[i].labels.Matches(labels.Set(namespaceLabels)) {
			return false
		}
	}
	return true
}

// MatchesName is Matches for the names and patterns alone. It is for whoever
// leaves the labels to the API server, by LabelSelection.
func (s Scope) MatchesName(name string) bool {
	if name == "" {
		return true
	}
	if s.names != nil {
		return s.names.Has(name)
	}
	return matchesNames(s.parts, name)
}

// Names returns all names that can be in, sorted, and whether there is such a
// list: there is none where a pattern or an exclusion decides.
func (s Scope) Names() ([]string, bool) {
	if s.names == nil {
		return nil, false
	}
	return sets.List(s.names), true
}

// finiteNames returns the names that pass all parts if one of them is a plain
// list of names, and nil if any number of names can pass.
func finiteNames(parts []part) sets.Set[string] {
	for i := range parts {
		if parts[i].excludesAll() {
			return sets.Set[string]{}
		}
	}
	for i := range parts {
		if !parts[i].listsNames() {
			continue
		}
		names := sets.Set[string]{}
		for name := range parts[i].selected.exact {
			if matchesNames(parts, name) {
				names.Insert(name)
			}
		}
		return names
	}
	return nil
}

func matchesNames(parts []part, name string) bool {
	for i := range parts {
		if !parts[i].matchesName(name) {
			return false
		}
	}
	return true
}
