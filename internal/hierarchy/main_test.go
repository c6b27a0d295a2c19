// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The shared cluster copies a few kinds; each test has namespaces of its own. What
// tests take apart together is more than the brake would let go.
func TestMain(m *testing.M) {
	parallel()
	os.Exit(testkit.RunWith(m, testkit.Options{
		Manifests: []string{"config/crd/hnc", "config/rbac/hierarchy.yaml"},
		Configuration: `
hierarchy:
  mode: Enforce
  excludedNamespaces: [kube-system, kube-public, kube-node-lease, hnc-system, excluded]
  managedLabels: ["team[.]example[.]com/.*"]
  managedAnnotations: ["team[.]example[.]com/.*"]
  strippedAnnotations: [example.com/stripped]
  strippedLabels: [example.com/stripped]
  brake: {percent: 100}
`,
	}))
}

// parallel lets more tests run at once than there are processors: they wait, for
// namespaces to end above all.
func parallel() {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
}
