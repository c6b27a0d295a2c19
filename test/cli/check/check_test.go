// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check tests "kubectl holdfast check" on a real API server: before Holdfast is
// installed there, beside others that guard the cluster, and after.
package check

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/test/cli/script"
)

// TestCheck is one story, in one cluster.
func TestCheck(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	stage := func(file string) {
		// Scripts are parallel tests: this one ends before the next begins.
		t.Run("stage", func(t *testing.T) {
			testscript.Run(t, script.Params(t, e, testscript.Params{Files: []string{"testdata/" + file}}))
		})
		if t.Failed() {
			t.FailNow() // each stage is where the next begins
		}
	}
	stage("before.txtar")
	e.Install(t)
	stage("after.txtar")
	stage("stopped.txtar")
}
