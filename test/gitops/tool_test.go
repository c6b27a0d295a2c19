// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"k8s.io/client-go/rest"
)

// tool is the engine of a GitOps tool, with the inventory of one application.
type tool interface {
	// sync applies manifests and prunes what is in the inventory and not among them.
	sync(t testing.TB, manifests ...string) report
	// drift names the diffs of the tool that show a difference between an object and its manifest.
	drift(t testing.TB, manifest string) []string
}

// report is what a tool reports of a sync.
type report struct {
	// Objects has a message for each object, by name.
	Objects map[string]string
	// Error is that of the sync as a whole. The engine of Argo CD has errors of objects alone.
	Error string
}

// setup is a tool and how it is set up.
type setup struct {
	name string
	make func(t testing.TB, e *testkit.Env, ns string) tool
}

// setups are those whose syncs write in different ways.
var setups = []setup{
	{name: "Flux", make: flux{}.begin},
	{name: "Argo CD", make: argoCD{}.begin},
	{name: "Argo CD with server-side apply", make: argoCD{serverSide: true}.begin},
}

// administrator returns a config for a user with all rights, which is how both tools are installed by default.
func administrator(t testing.TB, e *testkit.Env, user string) *rest.Config {
	t.Helper()
	e.Grant(t, "", user, testkit.Rule("*", []string{"*"}, "*"))
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.WarningHandler = rest.NoWarnings{} // of deprecated kinds, which the cache of Argo CD lists
	return config
}
