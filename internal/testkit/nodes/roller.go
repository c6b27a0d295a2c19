// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/roller"
)

type (
	// Roller is an operator that rolls pods.
	Roller = roller.Roller
	// RollerOptions of a Roller.
	RollerOptions = roller.Options
	// Roll is a pod that was replaced.
	Roll = roller.Roll
)

// Roller starts a roller that ends with the test and uses these nodes.
func (n *Nodes) Roller(t testing.TB, o RollerOptions) *Roller {
	t.Helper()
	o.NodeLabels = n.Kwok.NodeLabels()
	r, err := roller.Start(t.Context(), n.e.Config, n.e.Client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		<-r.Done()
		if t.Failed() {
			t.Logf("the roller rolled %v; its last error was %v", r.Rolls(), r.LastError())
		}
	})
	return r
}
