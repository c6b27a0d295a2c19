// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Key is a label that protects, and how it is read.
type Key struct {
	// Name is short and unique among the keys; policies are named by it.
	Name string
	// Label is the label's key.
	Label string
	// Values are the values that the label may be set to, beside the empty one,
	// which does not protect. ProtectCascading is one on UsedKinds only.
	Values []string
	// Elsewhere are values that mean something to the label's own project: where
	// they mean nothing here they may be set all the same, and are warned of.
	Elsewhere []string
	// AnyValue makes a value that is not in Values protect as well, so that a
	// typing error never leaves an object open.
	AnyValue bool
	// Strict makes taking the protection away a right of its own.
	Strict bool
	// Mark is what a mark says; empty for a label that people set. A mark is read only where it is bound to its
	// object, and then nobody but Holdfast has written it (package marks sees to that), so it needs no rule but
	// the one against deletion.
	Mark Mark
}

// Mark is what a mark of Holdfast's says.
type Mark string

const (
	// MarkProtection says that a ResourceDeletionProtection selects the object.
	MarkProtection Mark = "protection"
	// MarkWhileUsed says that one with mode Cascading does.
	MarkWhileUsed Mark = "protection-while-used"
	// MarkContents says that something protected hangs below the object.
	MarkContents Mark = "contents"
)

// AuditProtection is the key under which a policy or a webhook names, in the API
// server's audit events, the protections that refuse a deletion.
const AuditProtection = "protection"

// effect is what a label's value does for an object.
type effect int

const (
	open effect = iota
	protected
	// protectedWhileUsed protects an object of one of UsedKinds.
	protectedWhileUsed
)

// effect of a value on an object of a kind.
func (k Key) effect(r schema.GroupResource, value string) effect {
	switch {
	case value == "":
		return open
	case k.Mark == MarkWhileUsed:
		return protectedWhileUsed
	case value == v1alpha1.ProtectCascading && slices.Contains(k.Values, value) && canBeUsed(r):
		return protectedWhileUsed
	case k.AnyValue, value == v1alpha1.ProtectAlways:
		return protected
	}
	return open
}

// Value is what the label says on an object: for a mark, nothing where it is not bound to the object.
func (k Key) Value(o *metav1.PartialObjectMetadata) string {
	switch {
	case o == nil:
		return ""
	case k.Mark != "":
		return v1alpha1.MarkOf(o, k.Label)
	}
	return o.Labels[k.Label]
}

// Protects says whether a label with this value protects an object of a kind,
// be it for as long as it is in use.
func (k Key) Protects(r schema.GroupResource, value string) bool { return k.effect(r, value) != open }

// Selector is a label selector that finds the objects that the label may protect.
func (k Key) Selector() string {
	if k.AnyValue {
		return k.Label + "," + k.Label + " notin ()"
	}
	return k.Label + " in (" + strings.Join(k.Values, ",") + ")"
}

// Knows says whether the label may be set to this value on an object of a kind.
func (k Key) Knows(r schema.GroupResource, value string) bool {
	return value == "" || slices.Contains(k.Values, value) && (value != v1alpha1.ProtectCascading || canBeUsed(r))
}

// Rules are what the configuration makes of the deletion guard.
type Rules struct {
	// Keys are the labels that are read, the strict one first, then the upstream
	// ones, then the marks.
	Keys []Key
	// WorkloadControllers are user names that count as the cluster's own
	// controllers, beside ClusterControllers.
	WorkloadControllers []string
}

// NewRules reads the rules out of a configuration that is valid and defaulted.
func NewRules(c configv1alpha1.DeletionConfiguration) Rules {
	always := []string{v1alpha1.ProtectAlways}
	both := []string{v1alpha1.ProtectAlways, v1alpha1.ProtectCascading}
	rules := Rules{
		Keys: []Key{{
			Name:     "holdfast",
			Label:    v1alpha1.DeletionProtectedLabel,
			Values:   both,
			AnyValue: true,
			Strict:   true,
		}},
		WorkloadControllers: c.WorkloadControllers,
	}
	for _, upstream := range []struct {
		name, label string
		rule        configv1alpha1.LabelRule
		values      []string
		elsewhere   []string
	}{
		{"karmada", v1alpha1.KarmadaDeletionProtectedLabel, c.Labels.Karmada, always, nil},
		{"kruise", v1alpha1.KruiseDeletionProtectionLabel, c.Labels.Kruise, both, []string{v1alpha1.ProtectCascading}},
	} {
		if upstream.rule == configv1alpha1.LabelIgnored {
			continue
		}
		rules.Keys = append(rules.Keys, Key{
			Name:      upstream.name,
			Label:     upstream.label,
			Values:    upstream.values,
			Elsewhere: upstream.elsewhere,
			Strict:    upstream.rule == configv1alpha1.LabelStrict,
		})
	}
	for _, mark := range []struct {
		says  Mark
		label string
	}{
		{MarkProtection, v1alpha1.ProtectedByMark},
		{MarkWhileUsed, v1alpha1.ProtectedWhileUsedByMark},
		{MarkContents, v1alpha1.HoldsProtectedMark},
	} {
		rules.Keys = append(rules.Keys, Key{Name: string(mark.says), Label: mark.label, AnyValue: true, Mark: mark.says})
	}
	return rules
}

// Labels are the keys that people set.
func (r Rules) Labels() []Key {
	return slices.DeleteFunc(slices.Clone(r.Keys), func(k Key) bool { return k.Mark != "" })
}

// WhileUsed says whether a label with this value protects an object of a kind
// only while it is in use.
func (k Key) WhileUsed(r schema.GroupResource, value string) bool {
	return k.effect(r, value) == protectedWhileUsed
}
