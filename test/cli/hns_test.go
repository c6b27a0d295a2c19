// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// definitions are the kinds of HNC, by a path from the root of the module.
const definitions = "config/crd/hnc"

// TestHNS tests kubectl hns by scripts, and by the requests that it makes. No manager runs: the scripts
// write what the controllers would, so that they can produce each state. The large tree comes last.
func TestHNS(t *testing.T) {
	t.Parallel()
	env := testkit.New(t, testkit.Options{NoManager: true, Manifests: []string{definitions}})
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, params(t, env, testscript.Params{Dir: "testdata/hns"}))
	})
	t.Run("a large tree", func(t *testing.T) {
		testkit.Long(t)
		makeLargeTree(t, env)
		t.Run("takes a handful of requests", func(t *testing.T) { testLargeTree(t, env) })
		t.Run("with narrow rights what can be read is shown", func(t *testing.T) { testNarrowRights(t, env) })
		t.Run("get takes the cheapest lists", func(t *testing.T) { testGet(t, env) })
		t.Run("weak point 11: get follows a namespace in no tree alone", func(t *testing.T) { testAlone(t, env) })
		t.Run("get follows a tree", func(t *testing.T) { testWatch(t, env) })
	})
}
