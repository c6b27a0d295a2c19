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
	"github.com/holdfast-dev/holdfast/test/cli/script"
)

// TestScripts run side by side: each has a namespace of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, script.Params(t, testkit.Shared(t), testscript.Params{Dir: "testdata"}))
}

// TestScriptsAlone change the cluster for everybody, so they run one by one, and
// after the others.
func TestScriptsAlone(t *testing.T) {
	script.Alone(t, "testdata/alone/*.txtar")
}
