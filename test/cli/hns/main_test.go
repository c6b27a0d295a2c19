// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMain makes this binary answer as the plugin, under each name by which
// kubectl looks for it on PATH.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cli.Main()) }
	testscript.Main(sharing{m}, map[string]func(){
		"kubectl-hns":          plugin,
		"kubectl_complete-hns": plugin,
		"kubectl-holdfast":     plugin,
	})
}

// sharing are tests that share a cluster whose trees Holdfast keeps.
type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	return testkit.RunWith(s.m, testkit.Extra{
		Manifests:     []string{definitions, "config/rbac/hierarchy.yaml"},
		Configuration: "\nhierarchy:\n  mode: Enforce\n",
	})
}
