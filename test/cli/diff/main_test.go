// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMain makes this binary answer as the plugin.
func TestMain(m *testing.M) {
	testscript.Main(sharing{m}, map[string]func(){"kubectl-holdfast": func() { os.Exit(cli.Main()) }})
}

// sharing are tests that share a cluster whose RootSyncs Holdfast syncs.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return testkit.Run(s.m) }
