// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// scopesOf are the scopes of the features by their names, as the configuration in force
// has them, and that of all features under no name. There are none where Holdfast does not
// say what is in force.
func scopesOf(h *v1alpha1.Holdfast) (map[string]string, error) {
	c, err := connect.InForce(h)
	if c == nil || err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, narrower := range map[string]configv1alpha1.Scope{
		"": {}, "rootSync": {}, "deletion": c.Deletion.Scope, "eviction": c.Eviction.Scope, "hierarchy": settings.Scope(&c.Hierarchy),
		"serviceAccounts": c.ServiceAccounts.Scope,
	} {
		s, err := scope.Compile(c.Scope, narrower)
		if err != nil {
			return nil, fmt.Errorf("of %s: %w", name, err)
		}
		out[name] = s.String()
	}
	return out, nil
}
