// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The shared cluster has the kinds of Strimzi and CloudNativePG, and a manager that keeps the accounts of
// the namespaces with a label, as the gate has it when it is on. Tests that write as
// Holdfast themselves have namespaces without.
func TestMain(m *testing.M) {
	os.Exit(testkit.RunWith(m, testkit.Options{
		Manifests: []string{"internal/testkit/strimzi/crds.yaml", "internal/testkit/cnpg/crds.yaml", "config/rbac/serviceaccounts.yaml"},
		Configuration: `
featureGates: {ServiceAccountPatching: true}
serviceAccounts:
  mode: Enforce
  scope: {namespaceSelector: {matchLabels: {accounts: kept}}}
`,
	}))
}
