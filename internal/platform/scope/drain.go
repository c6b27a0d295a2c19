// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"strings"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// DrainNamespaces is the environment variable of the Strimzi Drain Cleaner that
// lists the namespaces whose evictions it handles.
const DrainNamespaces = "STRIMZI_DRAIN_NAMESPACES"

// FromDrainNamespaces reads the value of STRIMZI_DRAIN_NAMESPACES, which is set
// or not: names with commas between them, or "*". Unset, blank and "*" mean all
// namespaces, and so does a list of nothing but blank items such as ",": the
// proposal (seed 000) reads that as none, the Drain Cleaner since 1.5.0 as all.
//
// An item that no namespace can be named, a pattern or a "*" beside others
// included, is an error. The Drain Cleaner takes it and never matches it, which
// leaves pods unguarded that someone meant to guard; the proposal asks that a
// value that is not valid guards all. The scope beside the error therefore
// stands for all namespaces.
func FromDrainNamespaces(value string, set bool) (configv1alpha1.Scope, error) {
	if !set || strings.TrimSpace(value) == "*" {
		return configv1alpha1.Scope{}, nil
	}
	var scope configv1alpha1.Scope
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if _, err := parseName(item); err != nil {
			return configv1alpha1.Scope{}, fmt.Errorf("read %s: %q is not the name of a namespace: "+
				`list exact names with commas between them, or "*" alone for all; `+
				"patterns belong into the configuration file", DrainNamespaces, item)
		}
		scope.Namespaces = append(scope.Namespaces, item)
	}
	return scope, nil
}
