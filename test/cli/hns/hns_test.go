// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hns tests kubectl hns on a real API server: by scripts, and by the
// requests that it makes. Where no manager runs, the objects are as a controller
// would have left them, so that each state of a tree can be had.
package hns

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/test/cli/script"
)

// definitions are the kinds of HNC, by a path from the root of the module.
const definitions = "config/crd/hnc"

// TestWithHoldfast is the story of a tree that Holdfast keeps.
func TestWithHoldfast(t *testing.T) {
	testscript.Run(t, script.Params(t, testkit.Shared(t), testscript.Params{Dir: "testdata/holdfast"}))
}

// TestHNS has one cluster for all, and the large tree last.
func TestHNS(t *testing.T) {
	env := testkit.New(t, testkit.Options{NoManager: true})
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", "../../../" + definitions},
		{"wait", "--for=condition=established", "--timeout=180s", "-f", "../../../" + definitions},
	} {
		if out := env.Kubectl(t, args...); out.Code != 0 {
			t.Fatalf("install the kinds: %s", out.Stderr)
		}
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, script.Params(t, env, testscript.Params{Dir: "testdata"}))
	})
	makeLargeTree(t, env)
	t.Run("a large tree takes a handful of requests", func(t *testing.T) { testLargeTree(t, env) })
	t.Run("with narrow rights what can be read is shown", func(t *testing.T) { testNarrowRights(t, env) })
	t.Run("get takes the cheapest lists", func(t *testing.T) { testGet(t, env) })
	t.Run("weak point 11: get follows a namespace in no tree alone", func(t *testing.T) { testAlone(t, env) })
	t.Run("get follows a tree", func(t *testing.T) { testWatch(t, env) })
}
