// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// scopesOf are the scopes of the features by their names, as the configuration in force
// has them, and that of all features under no name. There are none where Holdfast does not
// say what is in force.
func scopesOf(h *v1alpha1.Holdfast) (map[string]string, error) {
	if h == nil || h.Status.Configuration == "" {
		return nil, nil
	}
	var c configv1alpha1.HoldfastConfiguration
	if err := yaml.Unmarshal([]byte(h.Status.Configuration), &c); err != nil {
		return nil, fmt.Errorf("read the configuration in force: %w", err)
	}
	out := map[string]string{"rootSync": "the namespaces that RootSyncs name, whatever the scope"}
	for name, narrower := range map[string]configv1alpha1.Scope{
		"": {}, "deletion": c.Deletion.Scope, "eviction": c.Eviction.Scope, "hierarchy": settings.Scope(&c.Hierarchy),
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
