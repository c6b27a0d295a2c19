// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestCheck is the story of "kubectl holdfast check": before Holdfast is installed, beside others that guard the
// cluster, and after.
func TestCheck(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	stage := func(file string) {
		// Scripts are parallel tests: this one ends before the next begins.
		t.Run("stage", func(t *testing.T) {
			testscript.Run(t, params(t, e, testscript.Params{Files: []string{"testdata/check/" + file}}))
		})
		if t.Failed() {
			t.FailNow() // each stage is where the next begins
		}
	}
	stage("before.txtar")
	e.Install(t)
	stage("after.txtar")
	stage("stopped.txtar")
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	stage("silent.txtar")
}
