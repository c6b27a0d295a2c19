// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMain makes this binary answer as the plugin, under both names by which
// kubectl looks for it on PATH.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cli.Main()) }
	testscript.Main(sharing{m}, map[string]func(){
		"kubectl-holdfast":          plugin,
		"kubectl_complete-holdfast": plugin,
	})
}

// sharing are tests that share a cluster.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return testkit.Run(s.m) }
