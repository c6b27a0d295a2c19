// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"k8s.io/component-base/featuregate"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// feature is what the process needs to know of a feature.
type feature struct {
	name string
	// mode and scope are its parts of the configuration.
	mode  func(*configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode
	scope func(*configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope
	// policies it wants in the API server, in its scope.
	policies func(*configv1alpha1.HoldfastConfiguration, scope.Selection) []admission.Policy
}

// allFeatures is the only list of the features.
var allFeatures = []feature{
	{
		name:  "deletion",
		mode:  func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode { return c.Deletion.Mode },
		scope: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope { return c.Deletion.Scope },
		policies: func(c *configv1alpha1.HoldfastConfiguration, s scope.Selection) []admission.Policy {
			return deletion.Policies(c.Deletion, s)
		},
	},
}

// gateSpecs are the feature gates of all features.
var gateSpecs = map[featuregate.Feature]featuregate.VersionedSpecs{}

// crdGroups are the groups of the CRDs that Holdfast brings.
var crdGroups = []string{v1alpha1.GroupName}

// featureStatus says in which mode each feature is.
func featureStatus(c *configv1alpha1.HoldfastConfiguration) []v1alpha1.FeatureStatus {
	out := make([]v1alpha1.FeatureStatus, 0, len(allFeatures))
	for _, f := range allFeatures {
		out = append(out, v1alpha1.FeatureStatus{Name: f.name, Mode: string(f.mode(c))})
	}
	return out
}

// declare collects what a configuration wants in the API server.
func declare(c *configv1alpha1.HoldfastConfiguration, self admission.Self, webhooks []admission.Webhook) (admission.Declaration, error) {
	self.Mode = c.Admission.SelfProtection
	self.CRDGroups = crdGroups
	d := admission.Declaration{Policies: []admission.Policy{self.Policy()}, Webhooks: webhooks}
	for _, f := range allFeatures {
		s, err := scope.Compile(c.Scope, f.scope(c))
		if err != nil {
			return admission.Declaration{}, err
		}
		d.Policies = append(d.Policies, f.policies(c, s.Selection())...)
	}
	return d, nil
}
