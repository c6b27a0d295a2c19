// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// TestMain shares a cluster on which all features are on.
func TestMain(m *testing.M) { os.Exit(story.Run(m, installed)) }

// installed is Holdfast as the tests have it.
var installed = testkit.Options{
	Manifests: []string{"config/crd/hnc", "config/rbac/hierarchy.yaml", "config/rbac/serviceaccounts.yaml"},
	Configuration: `
featureGates: {ServiceAccountPatching: true}
deletion: {mode: Enforce}
eviction: {mode: Enforce}
hierarchy: {mode: Enforce, brake: {percent: 100}, managedLabels: ['.*\.kubernetes\.io/.*', '.*\.(karmada|kruise)\.io/.*'], managedAnnotations: ['.*\.k8s\.io/.*']}
serviceAccounts: {mode: Enforce}
`,
}
