// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads the part of the configuration that is about trees of
// namespaces.
package settings

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Settings are what is in force. They do not change once made.
type Settings struct {
	// Mode of the verdicts; Off keeps no trees.
	Mode configv1alpha1.Mode
	// StandBy follows the trees without writing or refusing anything.
	StandBy bool
	// Where are the managed namespaces. It goes by names alone.
	Where scope.Scope
	// Brake bounds how many copies may go at once.
	Brake Brake

	// said is what they were made of.
	said any

	excluded                        sets.Set[string]
	reserved                        []scope.Scope
	managedLabel, managedAnnotation tree.Keys
	uncopied                        map[string][]string
	stripLabels, stripAnnotations   map[string]bool
}

// Brake bounds how many copies may go at once.
type Brake struct{ Percent, Minimum int }

// Active says whether anything is written or refused.
func (s Settings) Active() bool { return s.Mode != configv1alpha1.ModeOff && !s.StandBy }

// Follows says whether the trees are followed at all.
func (s Settings) Follows() bool { return s.Mode != configv1alpha1.ModeOff }

// Excluded says whether a name is in the list of excluded namespaces.
func (s Settings) Excluded(name string) bool { return s.excluded.Has(name) }

// ExcludedNames are those in the list of excluded namespaces, in order.
func (s Settings) ExcludedNames() []string { return sets.List(s.excluded) }

// Managed says whether a namespace of the name belongs into a tree.
func (s Settings) Managed(name string) bool { return s.Where.MatchesName(name) }

// Reserved reports whether no anchor may create a namespace of the name.
func (s Settings) Reserved(name string) bool {
	return slices.ContainsFunc(s.reserved, func(r scope.Scope) bool { return r.MatchesName(name) })
}

// ManagedLabels are the keys of labels that can be set for subtrees.
func (s Settings) ManagedLabels() tree.Keys { return s.managedLabel }

// ManagedAnnotations are those of annotations.
func (s Settings) ManagedAnnotations() tree.Keys { return s.managedAnnotation }

// Equal says whether two Settings say the same.
func (s Settings) Equal(o Settings) bool { return reflect.DeepEqual(s.said, o.said) }

// Tree is what a tree.Tree needs to know.
func (s Settings) Tree(deletingCRD bool) tree.Settings {
	return tree.Settings{Managed: s.Managed, Reserved: s.Reserved, ManagedLabel: s.managedLabel, ManagedAnnotation: s.managedAnnotation, DeletingCRD: deletingCRD}
}

// Rules of what is copied, with the modes of the kinds that the HNCConfiguration
// lists.
func (s Settings) Rules(modes map[schema.GroupKind]hncv1alpha2.SynchronizationMode) propagate.Rules {
	return propagate.Rules{NoCopies: s.uncopied, StripLabels: s.stripLabels, StripAnnotations: s.stripAnnotations, Modes: modes}
}

// New reads a configuration that is valid. Own is the namespace that Holdfast runs
// in, which is excluded, and more are those that the HNCConfiguration excludes.
func New(c *configv1alpha1.HoldfastConfiguration, own string, more []string) (Settings, error) {
	h := c.Hierarchy
	excluded := sets.New(h.ExcludedNamespaces...).Insert(more...).Insert(own, configsyncv1beta1.Namespace)
	where, err := scope.Compile(c.Scope, namesOf(h.IncludedNamespaces, excluded))
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		said: []any{c.Scope, h, sets.List(excluded)},
		Mode: h.Mode, StandBy: h.StandBy, Where: where, excluded: excluded,
		uncopied: map[string][]string{}, stripLabels: setOf(h.StrippedLabels), stripAnnotations: setOf(h.StrippedAnnotations),
		Brake: Brake{Percent: int(*h.Brake.Percent), Minimum: int(*h.Brake.Minimum)},
	}
	// On their own, so that no exclusion among the configured ones takes a name off the list that always holds.
	for _, names := range [][]string{{"kube-*", "hnc-system", own, configsyncv1beta1.Namespace}, h.ReservedNamespaces} {
		if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" }); len(names) == 0 {
			continue // as a scope it would be all namespaces
		}
		reserved, err := scope.Compile(configv1alpha1.Scope{Namespaces: names})
		if err != nil {
			return Settings{}, err
		}
		s.reserved = append(s.reserved, reserved)
	}
	if s.managedLabel, err = tree.CompileKeys(h.ManagedLabels); err != nil {
		return Settings{}, err
	}
	if s.managedAnnotation, err = tree.CompileKeys(h.ManagedAnnotations); err != nil {
		return Settings{}, err
	}
	for _, l := range h.UncopiedLabels {
		key, value, _ := strings.Cut(l, "=")
		s.uncopied[key] = append(s.uncopied[key], value)
	}
	return s, nil
}

func setOf(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, v := range list {
		out[v] = true
	}
	return out
}

// Scope is that of the feature, as any other one has it: for what shows scopes.
func Scope(h *configv1alpha1.HierarchyConfiguration) configv1alpha1.Scope {
	return namesOf(h.IncludedNamespaces, sets.New(h.ExcludedNamespaces...))
}

func namesOf(included string, excluded sets.Set[string]) configv1alpha1.Scope {
	var out configv1alpha1.Scope
	if included != "" && included != ".*" {
		out.Namespaces = append(out.Namespaces, "re:"+included)
	}
	for _, name := range sets.List(excluded) {
		if name != "" {
			out.Namespaces = append(out.Namespaces, "!"+name)
		}
	}
	return out
}

// Validate says what is wrong with the part of a configuration.
func Validate(c *configv1alpha1.HoldfastConfiguration) field.ErrorList {
	h, at := c.Hierarchy, field.NewPath("hierarchy")
	var problems field.ErrorList
	if !slices.Contains(configv1alpha1.Modes, h.Mode) {
		problems = append(problems, field.NotSupported(at.Child("mode"), h.Mode, configv1alpha1.Modes))
	}
	if h.Mode != configv1alpha1.ModeOff && c.Scope.NamespaceSelector != nil {
		problems = append(problems, field.Invalid(field.NewPath("scope", "namespaceSelector"), field.OmitValueType{},
			"trees of namespaces go by names alone, since labels come and go: write the names or patterns into scope.namespaces, or set hierarchy.mode to Off"))
	}
	problems = append(problems, validateNames(h, at)...)
	problems = append(problems, validateKeys(at.Child("managedLabels"), h.ManagedLabels)...)
	problems = append(problems, validateKeys(at.Child("managedAnnotations"), h.ManagedAnnotations)...)
	problems = append(problems, validateSelected(c)...)
	for i, l := range h.UncopiedLabels {
		if mistake := labelPair(l); mistake != "" {
			problems = append(problems, field.Invalid(at.Child("uncopiedLabels").Index(i), l, mistake))
		}
	}
	for name, list := range map[string][]string{"strippedLabels": h.StrippedLabels, "strippedAnnotations": h.StrippedAnnotations} {
		for i, key := range list {
			for _, mistake := range validation.IsQualifiedName(strings.ToLower(key)) {
				problems = append(problems, field.Invalid(at.Child(name).Index(i), key, mistake))
			}
		}
	}
	if p := *h.Brake.Percent; p < 0 || p > 100 {
		problems = append(problems, field.Invalid(at.Child("brake", "percent"), p, "must be between 0 and 100"))
	}
	if m := *h.Brake.Minimum; m < 0 {
		problems = append(problems, field.Invalid(at.Child("brake", "minimum"), m, "must not be negative"))
	}
	return problems
}

func validateNames(h configv1alpha1.HierarchyConfiguration, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, name := range h.ExcludedNamespaces {
		for _, mistake := range validation.IsDNS1123Label(name) {
			problems = append(problems, field.Invalid(at.Child("excludedNamespaces").Index(i), name, mistake))
		}
	}
	if len(h.ReservedNamespaces) > 0 {
		for _, mistake := range scope.Validate(configv1alpha1.Scope{Namespaces: h.ReservedNamespaces}, at) {
			mistake.Field = strings.Replace(mistake.Field, ".namespaces", ".reservedNamespaces", 1)
			problems = append(problems, mistake)
		}
	}
	included := at.Child("includedNamespaces")
	if _, err := regexp.Compile(h.IncludedNamespaces); err != nil {
		return append(problems, field.Invalid(included, h.IncludedNamespaces, err.Error()))
	}
	if len(problems) > 0 {
		return problems
	}
	compiled, err := scope.Compile(Scope(&h))
	switch {
	case err != nil:
		problems = append(problems, field.Invalid(included, h.IncludedNamespaces, err.Error()))
	case compiled.Selection().Residual:
		problems = append(problems, field.Invalid(included, h.IncludedNamespaces, "the expression is too long for the API server"))
	}
	return problems
}

func validateKeys(at *field.Path, expressions []string) field.ErrorList {
	var problems field.ErrorList
	for i, e := range expressions {
		if _, err := tree.CompileKeys([]string{e}); err != nil {
			problems = append(problems, field.Invalid(at.Index(i), e, err.Error()))
		}
	}
	return problems
}

// validateSelected refuses to manage labels by which a scope selects namespaces: a user who may write a
// HierarchyConfiguration could move namespaces out of that scope.
func validateSelected(c *configv1alpha1.HoldfastConfiguration) field.ErrorList {
	var problems field.ErrorList
	for i, e := range c.Hierarchy.ManagedLabels {
		keys, err := tree.CompileKeys([]string{e})
		if err != nil || c.Hierarchy.Mode == configv1alpha1.ModeOff {
			continue
		}
		for _, s := range []struct {
			path string
			configv1alpha1.Scope
		}{{"deletion", c.Deletion.Scope}, {"eviction", c.Eviction.Scope}, {"serviceAccounts", c.ServiceAccounts.Scope}} {
			for _, key := range selectedBy(s.NamespaceSelector) {
				if keys.Has(key) {
					problems = append(problems, field.Invalid(field.NewPath("hierarchy", "managedLabels").Index(i), e, fmt.Sprintf(
						"matches %s, by which %s.scope.namespaceSelector selects namespaces: a user who may write a HierarchyConfiguration could move namespaces into that scope or out of it; select by names, or by a label that is not managed",
						key, s.path)))
				}
			}
		}
	}
	return problems
}

// selectedBy returns the keys of the labels that a selector reads, in order.
func selectedBy(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	keys := sets.KeySet(s.MatchLabels)
	for _, r := range s.MatchExpressions {
		keys.Insert(r.Key)
	}
	return sets.List(keys)
}

func labelPair(text string) (mistake string) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return "must be of the form key=value"
	}
	mistakes := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
	if len(mistakes) > 0 {
		return strings.Join(mistakes, "; ")
	}
	return ""
}
