// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// TestMain makes this binary answer as the plugin, by which users are told.
func TestMain(m *testing.M) {
	testscript.Main(sharing{m}, map[string]func(){"kubectl-holdfast": func() { os.Exit(cli.Main()) }})
}

type sharing struct{ m *testing.M }

// Run shares a cluster on which all features are on, each with a scope of its own.
func (s sharing) Run() int {
	// What takes time are namespaces that end, and not the machine.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	return story.Run(s.m, installed)
}

// installed is Holdfast as the tests have it.
var installed = testkit.Options{
	Manifests: []string{"config/crd/hnc", "config/rbac/hierarchy.yaml", "config/rbac/serviceaccounts.yaml"},
	Configuration: `
scope: {namespaces: ["!*-beyond"]}
deletion: {mode: Enforce, scope: {namespaces: ["!*-undeleted"]}}
eviction: {mode: Enforce, scope: {namespaces: ["!*-unevicted"]}}
hierarchy:
  mode: Enforce
  excludedNamespaces: [kube-system, kube-public, kube-node-lease, hnc-system, treeless]
  brake: {percent: 100}
serviceAccounts: {mode: Enforce, scope: {namespaces: ["!*-unpatched"]}}
`,
}
