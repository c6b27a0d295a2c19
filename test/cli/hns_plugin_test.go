// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	plugin "github.com/holdfast-dev/holdfast/internal/cli/hns"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// hnsCall is one call of the plugin, and what it said.
type hnsCall struct {
	out, errOut testkit.Buffer
	requests    requests
	err         error
}

// callHNS runs the plugin and impersonates user; an empty user is the administrator.
func callHNS(ctx context.Context, t *testing.T, env *testkit.Env, user string, args ...string) *hnsCall {
	t.Helper()
	r := &hnsCall{}
	r.call(ctx, env, t.TempDir(), user, args...)
	return r
}

func (r *hnsCall) call(ctx context.Context, env *testkit.Env, cache, user string, args ...string) {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir, flags.Impersonate = new(env.Kubeconfig), &cache, &user // flags write to them
	flags.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS = -1
		c.Wrap(r.requests.recording)
		return c
	})
	s := ui.NewStreams(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &r.out, ErrOut: &r.errOut})
	root := plugin.Root(s, flags)
	root.SilenceErrors, root.SilenceUsage = true, true
	flags.AddFlags(root.PersistentFlags())
	root.SetArgs(args)
	r.err = root.ExecuteContext(ctx)
}
