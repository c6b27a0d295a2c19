// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"maps"
	"slices"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Outcome is what follows for one namespace that exists. Nobody changes it.
type Outcome struct {
	// Managed is false for a namespace that is left alone. Then the rest is empty,
	// but for the anchors: those are forbidden.
	Managed bool
	// External says that the labels of the namespace are somebody else's.
	External bool
	// Terminating says that the namespace is being deleted.
	Terminating bool
	// Parent is the one that the namespace says it has, even one that cannot be;
	// empty for a root.
	Parent string
	// Subnamespace says that the parent comes from the annotation.
	Subnamespace bool
	// Children are the namespaces right below, in the order of their names.
	Children []string
	// HaltedBy is the nearest namespace, this one or an ancestor, that is broken;
	// empty if none is.
	HaltedBy string
	// AllowCascadingDeletion says that the namespace or an ancestor allows it.
	AllowCascadingDeletion bool
	// Spec is what the HierarchyConfiguration should say: what it says, and for a
	// subnamespace what annotation and anchor say in its place.
	Spec hncv1alpha2.HierarchyConfigurationSpec
	// Labels are all those that the namespace should have.
	Labels map[string]string
	// Annotations are those of the Object that the namespace should have.
	Annotations map[string]string
	// Anchors are the states of the anchors in the namespace, by their name.
	Anchors map[string]hncv1alpha2.AnchorState
	// Conditions say what is wrong, in the order of type and reason. No two have
	// the same type and reason.
	Conditions []Condition
}

// Halted says whether copies in the namespace are left as they are.
func (o *Outcome) Halted() bool {
	return slices.ContainsFunc(o.Conditions, func(c Condition) bool { return c.Type == hncv1alpha2.ConditionActivitiesHalted })
}

// Condition is one that is true. It has no time: whoever writes it down keeps the
// time of the one that stands there with the same type and reason.
type Condition struct {
	Type, Reason, Message string
}

func (c Condition) compare(d Condition) int {
	if n := strings.Compare(c.Type, d.Type); n != 0 {
		return n
	}
	return strings.Compare(c.Reason, d.Reason)
}

// equal says whether the same follows.
func (o *Outcome) equal(p *Outcome) bool {
	if o == nil || p == nil {
		return o == p
	}
	return o.sameWords(p) && equalSpecs(o.Spec, p.Spec) &&
		slices.Equal(o.Children, p.Children) && slices.Equal(o.Conditions, p.Conditions) &&
		maps.Equal(o.Labels, p.Labels) && maps.Equal(o.Annotations, p.Annotations) && maps.Equal(o.Anchors, p.Anchors)
}

func (o *Outcome) sameWords(p *Outcome) bool {
	return o.Managed == p.Managed && o.External == p.External && o.Terminating == p.Terminating &&
		o.Parent == p.Parent && o.Subnamespace == p.Subnamespace && o.HaltedBy == p.HaltedBy &&
		o.AllowCascadingDeletion == p.AllowCascadingDeletion
}

func equalSpecs(a, b hncv1alpha2.HierarchyConfigurationSpec) bool {
	return a.Parent == b.Parent && a.AllowCascadingDeletion == b.AllowCascadingDeletion &&
		slices.Equal(a.Labels, b.Labels) && slices.Equal(a.Annotations, b.Annotations)
}
