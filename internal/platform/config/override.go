// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// ScopeOverride returns an override that puts the outcome of reading a seed's
// environment variable, such as scope.FromDrainNamespaces, into the field that
// target returns. The variable is read once, at start; the caller makes no
// override for one that is not set, so that the file counts.
//
// With an error the override selects all namespaces, as seed 000 asks of a value
// that is not valid, on this load and on every later one, or else the same
// process would refuse the next good file. The caller logs the error: nothing
// else says that more is guarded than someone meant. The file has no such
// mercy: a mistake there stops the start.
func ScopeOverride(
	target func(*configv1alpha1.HoldfastConfiguration) *configv1alpha1.Scope, selected configv1alpha1.Scope, err error,
) Override {
	if err != nil {
		selected = configv1alpha1.Scope{}
	}
	return func(cfg *configv1alpha1.HoldfastConfiguration) error {
		selected.DeepCopyInto(target(cfg))
		return nil
	}
}
