// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flags reads the flags that the manager of HNC 1.1 takes: those that
// still have a meaning go before the configuration file, the others are taken so
// that the arguments of an installation can stay as they are.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

const (
	excludedNamespace          = "excluded-namespace"
	includedNamespaceRegex     = "included-namespace-regex"
	managedNamespaceLabel      = "managed-namespace-label"
	managedNamespaceAnnotation = "managed-namespace-annotation"
	unpropagatedLabel          = "unpropagated-label"
	unpropagatedAnnotation     = "unpropagated-annotation"
	nopropagationLabel         = "nopropagation-label"
	enableHRQ                  = "enable-hrq"
)

// Flags are what the command line says. The zero value says nothing.
type Flags struct {
	set *pflag.FlagSet

	included string
	lists    [6][]string
	hrq      bool
}

// list is a flag that can be given several times, and the part of the configuration
// that it replaces.
type list struct {
	name, usage, field string
	target             func(*configv1alpha1.HierarchyConfiguration) *[]string
	// expressions are written as HNC reads them.
	expressions bool
}

var lists = [6]list{
	{
		name: excludedNamespace, field: "excludedNamespaces", usage: "name of a namespace that is in no tree",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.ExcludedNamespaces },
	},
	{
		name: managedNamespaceLabel, field: "managedLabels", expressions: true, usage: "regular expression for keys of labels that are set for whole subtrees",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.ManagedLabels },
	},
	{
		name: managedNamespaceAnnotation, field: "managedAnnotations", expressions: true, usage: "regular expression for keys of annotations that are set for whole subtrees",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.ManagedAnnotations },
	},
	{
		name: unpropagatedLabel, field: "strippedLabels", usage: "key of a label that copies do not have",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.StrippedLabels },
	},
	{
		name: unpropagatedAnnotation, field: "strippedAnnotations", usage: "key of an annotation that copies do not have",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.StrippedAnnotations },
	},
	{
		name: nopropagationLabel, field: "uncopiedLabels", usage: "label, as key=value, of objects that are never copied",
		target: func(h *configv1alpha1.HierarchyConfiguration) *[]string { return &h.UncopiedLabels },
	},
}

// AddTo adds the flags. Those of HNC that mean nothing here are hidden.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	f.set = fs
	for i, l := range lists {
		// Not a slice that splits at commas: HNC's does not.
		fs.StringArrayVar(&f.lists[i], l.name, nil, l.usage+". Can be given several times; goes before hierarchy."+l.field+" of the configuration.")
	}
	fs.StringVar(&f.included, includedNamespaceRegex, "",
		"regular expression for names of namespaces: others are in no tree. Goes before hierarchy.includedNamespaces of the configuration.")
	fs.BoolVar(&f.hrq, enableHRQ, false, "")
	hide(fs, enableHRQ)
	for _, u := range unused {
		u.add(fs)
		hide(fs, u.name)
	}
}

func hide(fs *pflag.FlagSet, name string) { fs.Lookup(name).Hidden = true }

// Given is what the flags that were given come to.
type Given struct {
	// Overrides go before the configuration file.
	Overrides []config.Override
	// Notes are for whoever gave a flag that means something else here, or nothing.
	Notes []string
}

// Read reads the flags once they are parsed. As in HNC, one that cannot be read is
// an error, and nothing starts: to take all namespaces for want of a list would
// take in those that somebody meant to keep out.
func (f *Flags) Read() (Given, error) {
	var out Given
	if f.set == nil {
		return out, nil
	}
	problems := f.readLists(&out)
	problems = append(problems, f.readIncluded(&out)...)
	if f.hrq {
		problems = append(problems, errors.New("--"+enableHRQ+": Holdfast does not enforce HierarchicalResourceQuotas yet, so those that you rely on would have no effect; "+
			"stay with HNC while you need them, or remove the flag and the quotas"))
	}
	if len(problems) > 0 {
		return Given{}, errors.Join(problems...)
	}
	for _, u := range unused {
		if value := f.set.Lookup(u.name); value.Changed && !slices.Contains(u.quiet, value.Value.String()) {
			out.Notes = append(out.Notes, "--"+u.name+" has no effect: "+u.why)
		}
	}
	return out, nil
}

func (f *Flags) readLists(out *Given) (problems []error) {
	for i, l := range lists {
		if !f.set.Changed(l.name) {
			continue
		}
		values := slices.Clone(f.lists[i])
		if l.expressions {
			for j := range values {
				values[j] = out.expression(l.name, values[j])
			}
		}
		problems = append(problems, out.override(l.name, func(h *configv1alpha1.HierarchyConfiguration) { *l.target(h) = slices.Clone(values) })...)
	}
	return problems
}

func (f *Flags) readIncluded(out *Given) []error {
	if !f.set.Changed(includedNamespaceRegex) {
		return nil
	}
	expression := f.included // as in HNC, the empty one is for all
	if expression != "" {
		expression = out.expression(includedNamespaceRegex, expression)
	}
	return out.override(includedNamespaceRegex, func(h *configv1alpha1.HierarchyConfiguration) { h.IncludedNamespaces = expression })
}

// expression reads one as HNC does, and says so where that is not what it looks like.
func (g *Given) expression(flag, text string) string {
	whole, same := asHNC(text)
	if !same {
		g.Notes = append(g.Notes, fmt.Sprintf("--%s=%s is read as HNC reads it, where ^ belongs to the first alternative alone and $ to the last; "+
			"to match whole names or keys write (%s)", flag, text, text))
	}
	return whole
}

// override adds one, and holds it against the rules for the file.
func (g *Given) override(flag string, set func(*configv1alpha1.HierarchyConfiguration)) (problems []error) {
	o := func(c *configv1alpha1.HoldfastConfiguration) error {
		set(&c.Hierarchy)
		return nil
	}
	c := &configv1alpha1.HoldfastConfiguration{}
	_ = o(c)
	configv1alpha1.SetDefaults(c)
	for _, p := range settings.Validate(c) {
		problems = append(problems, fmt.Errorf("--%s: %s", flag, strings.TrimPrefix(p.Error(), p.Field+": ")))
	}
	g.Overrides = append(g.Overrides, o)
	return problems
}
