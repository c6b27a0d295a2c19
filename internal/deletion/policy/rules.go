// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

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
	// which does not protect.
	Values []string
	// Elsewhere are values that mean something to the label's own project and
	// nothing here: they may be set, and are warned of.
	Elsewhere []string
	// AnyValue makes a value that is not in Values protect as well, so that a
	// typing error never leaves an object open.
	AnyValue bool
	// Strict makes taking the protection away a right of its own.
	Strict bool
}

// Protects says whether an object whose label has this value is protected.
func (k Key) Protects(value string) bool {
	if k.AnyValue {
		return value != ""
	}
	return value == v1alpha1.ProtectAlways
}

// Knows says whether the label may be set to this value.
func (k Key) Knows(value string) bool {
	return value == "" || slices.Contains(k.Values, value)
}

// Rules are what the configuration makes of the deletion guard.
type Rules struct {
	// Keys are the labels that are read, the strict one first.
	Keys []Key
	// WorkloadControllers are user names that count as the cluster's own
	// controllers, beside ClusterControllers.
	WorkloadControllers []string
}

// NewRules reads the rules out of a configuration that is valid and defaulted.
func NewRules(c configv1alpha1.DeletionConfiguration) Rules {
	always := []string{v1alpha1.ProtectAlways}
	rules := Rules{
		Keys: []Key{{
			Name:     "holdfast",
			Label:    v1alpha1.DeletionProtectedLabel,
			Values:   always,
			AnyValue: true,
			Strict:   true,
		}},
		WorkloadControllers: c.WorkloadControllers,
	}
	for _, upstream := range []struct {
		name, label string
		rule        configv1alpha1.LabelRule
		elsewhere   []string
	}{
		{"karmada", v1alpha1.KarmadaDeletionProtectedLabel, c.Labels.Karmada, nil},
		{"kruise", v1alpha1.KruiseDeletionProtectionLabel, c.Labels.Kruise, []string{"Cascading"}},
	} {
		if upstream.rule == configv1alpha1.LabelIgnored {
			continue
		}
		rules.Keys = append(rules.Keys, Key{
			Name:      upstream.name,
			Label:     upstream.label,
			Values:    always,
			Elsewhere: upstream.elsewhere,
			Strict:    upstream.rule == configv1alpha1.LabelStrict,
		})
	}
	return rules
}
