// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMain makes this binary answer as the plugin.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cli.Main()) }
	testscript.Main(sharing{m}, map[string]func(){
		"kubectl-holdfast":          plugin,
		"kubectl_complete-holdfast": plugin,
	})
}

// sharing are tests that share a cluster that knows RootSyncs. Nobody syncs them there.
type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	return testkit.RunWith(s.m, testkit.Extra{Manifests: []string{"config/crd/configsync"}})
}
