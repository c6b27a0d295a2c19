// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection is the pure part of ResourceDeletionProtections: which
// objects they select. A Set answers for one object in a time that depends on
// how many protections may select it, not on how many there are.
package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// everyName is the name that stands for every object of a kind.
const everyName = "*"

// Protection is a ResourceDeletionProtection, made ready to be asked.
type Protection struct {
	Name      string
	Mode      v1alpha1.ProtectionMode
	Reason    string
	Message   string
	Selectors []Selector
}

// Selector selects objects of one kind.
type Selector struct {
	Kind      schema.GroupKind
	Namespace string
	// Names are nil for every name.
	Names      sets.Set[string]
	Namespaces labels.Selector
	Objects    labels.Selector
}

// New makes a Protection. What the CustomResourceDefinition's schema lets pass
// is no error.
func New(in *v1alpha1.ResourceDeletionProtection) (*Protection, error) {
	p := &Protection{Name: in.Name, Mode: in.Spec.Mode, Reason: in.Spec.Reason, Message: in.Spec.Message}
	if p.Mode == "" {
		p.Mode = v1alpha1.ModeAlways
	}
	for i, r := range in.Spec.ProtectedResources {
		for j, s := range r.ResourceSelector {
			made, err := newSelector(s, r.ResourceNames)
			if err != nil {
				return nil, fmt.Errorf("spec.protectedResources[%d].resourceSelector[%d]: %w", i, j, err)
			}
			p.Selectors = append(p.Selectors, made)
		}
	}
	return p, nil
}

func newSelector(in v1alpha1.ResourceSelector, names []string) (Selector, error) {
	gv, err := schema.ParseGroupVersion(in.APIVersion)
	if err != nil {
		return Selector{}, fmt.Errorf("apiVersion: %w", err)
	}
	s := Selector{Kind: schema.GroupKind{Group: gv.Group, Kind: in.Kind}, Namespace: in.Namespace}
	if in.Name != everyName {
		all := sets.New(names...)
		if in.Name != "" {
			all.Insert(in.Name)
		}
		if len(all) > 0 {
			s.Names = all
		}
	}
	if s.Namespaces, err = newLabelSelector(in.NamespaceSelector); err != nil {
		return Selector{}, fmt.Errorf("namespaceSelector: %w", err)
	}
	if s.Objects, err = newLabelSelector(in.LabelSelector); err != nil {
		return Selector{}, fmt.Errorf("labelSelector: %w", err)
	}
	return s, nil
}

var operators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn:           selection.In,
	metav1.LabelSelectorOpNotIn:        selection.NotIn,
	metav1.LabelSelectorOpExists:       selection.Exists,
	metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

// newLabelSelector makes a selector; nil for none, which does not restrict.
func newLabelSelector(in *v1alpha1.ObjectSelector) (labels.Selector, error) {
	if in == nil {
		return nil, nil
	}
	var all labels.Requirements
	add := func(key string, op selection.Operator, values []string) error {
		r, err := labels.NewRequirement(key, op, values)
		if err == nil {
			all = append(all, *r)
		}
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(in.MatchLabels)) {
		if err := add(key, selection.Equals, []string{string(in.MatchLabels[key])}); err != nil {
			return nil, fmt.Errorf("matchLabels: %w", err)
		}
	}
	for i, e := range in.MatchExpressions {
		values := make([]string, 0, len(e.Values))
		for _, v := range e.Values {
			values = append(values, string(v))
		}
		if err := add(e.Key, operators[e.Operator], values); err != nil {
			return nil, fmt.Errorf("matchExpressions[%d]: %w", i, err)
		}
	}
	return labels.NewSelector().Add(all...), nil
}

// Matches says whether a selector selects an object of its kind, in a namespace
// with these labels.
func (s Selector) Matches(o *metav1.PartialObjectMetadata, namespace labels.Set) bool {
	return (s.Namespace == "" || s.Namespace == o.Namespace) &&
		(s.Names == nil || s.Names.Has(o.Name)) &&
		(s.Namespaces == nil || o.Namespace != "" && s.Namespaces.Matches(namespace)) &&
		(s.Objects == nil || s.Objects.Matches(labels.Set(o.Labels)))
}

// ownKeys are the domains of labels that Holdfast keeps itself, by the place of a namespace in its tree among others.
// Who changes what such a label is about needs rights there.
var ownKeys = []string{v1alpha1.GroupName, hncv1alpha2.GroupName}

// LabelKeys returns the keys of the labels by which protections select an object that they all match, separated by commas
// and in order. A protection that also selects the object otherwise adds none.
func LabelKeys(protections []*Protection, kind schema.GroupKind, o *metav1.PartialObjectMetadata, namespace labels.Set) string {
	keys := sets.New[string]()
	for _, p := range protections {
		keys = keys.Union(p.labelKeys(kind, o, namespace))
	}
	for key := range keys {
		domain, _, _ := strings.Cut(key, "/")
		if slices.ContainsFunc(ownKeys, func(own string) bool { return domain == own || strings.HasSuffix(domain, "."+own) }) {
			keys.Delete(key)
		}
	}
	return strings.Join(sets.List(keys), ",")
}

func (p *Protection) labelKeys(kind schema.GroupKind, o *metav1.PartialObjectMetadata, namespace labels.Set) sets.Set[string] {
	keys := sets.New[string]()
	for _, s := range p.Selectors {
		switch {
		case s.Kind != kind || !s.Matches(o, namespace):
		case s.Objects == nil:
			return nil
		default:
			requirements, _ := s.Objects.Requirements()
			for _, r := range requirements {
				keys.Insert(r.Key())
			}
		}
	}
	return keys
}

// Detail is what the mark of an object says of the protections that select it,
// for people: their names, and the messages or else the reasons.
func Detail(protections []*Protection) string {
	parts := make([]string, 0, len(protections))
	for _, p := range protections {
		text := p.Name
		switch {
		case p.Message != "":
			text += " (" + p.Message + ")"
		case p.Reason != "":
			text += " (" + p.Reason + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Value is what the mark of an object says of them, for policies: the name of
// the only one, or how many they are.
func Value(protections []*Protection) string {
	if len(protections) == 1 {
		return protections[0].Name
	}
	return fmt.Sprint(len(protections)) + v1alpha1.SeveralProtections
}
