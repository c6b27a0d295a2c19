// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

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

// sharing are tests that share a cluster with the kinds of Strimzi, in which nobody
// writes accounts, but for the script that turns it on.
type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	return testkit.RunWith(s.m, testkit.Extra{Manifests: []string{"internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml"}})
}
