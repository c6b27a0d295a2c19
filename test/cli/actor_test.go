// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// actor is an administrator with kubectl, in one test.
type actor struct {
	*testkit.Env
	*gomega.WithT
	t testing.TB
}

func newActor(t testing.TB, e *testkit.Env) actor { return actor{e, gomega.NewWithT(t), t} }

// established waits until definitions are served. "kubectl wait" fails on one without a status, as it is at first.
func (a actor) established(which ...string) {
	a.t.Helper()
	args := append([]string{"wait", "--for=condition=established", "--timeout=10s"}, which...)
	a.Eventually(func() string { return a.Kubectl(a.t, args...).Stderr }, patience, often).Should(gomega.BeEmpty())
}

// run runs kubectl and returns its standard output; a nonzero exit code fails the test.
func (a actor) run(args ...string) string {
	a.t.Helper()
	out := a.Kubectl(a.t, args...)
	if out.Code != 0 {
		a.t.Fatalf("kubectl %s: %s", strings.Join(args, " "), out.Stderr)
	}
	return out.Stdout
}
