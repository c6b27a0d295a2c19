// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli tests the kubectl plugin by scripts, which are also its
// documentation: each tells a story with real kubectl commands against a real
// API server with Holdfast on it.
package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestScripts run side by side: each has a namespace of its own. Those that change the cluster for everybody
// come after them, one by one.
func TestScripts(t *testing.T) {
	env := testkit.Shared(t)
	t.Run("together", func(t *testing.T) {
		testscript.Run(t, params(t, env, testscript.Params{Dir: "testdata"}))
	})
	alone(t, env, "testdata/alone/*.txtar")
}
