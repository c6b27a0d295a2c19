// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/cli"
)

// TestMain makes this binary answer as the plugin.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl-holdfast": func() { os.Exit(cli.Main()) }})
}
