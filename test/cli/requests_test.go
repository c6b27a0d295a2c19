// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// requestsOf returns what a command asks the API server.
func requestsOf(
	t *testing.T, env *testkit.Env, command func(*ui.Streams, *genericclioptions.ConfigFlags) *cobra.Command, args ...string,
) []*http.Request {
	t.Helper()
	var mu sync.Mutex
	var out []*http.Request
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir = new(env.Kubeconfig), new(t.TempDir())
	flags.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, r)
				return next.RoundTrip(r)
			})
		})
		return c
	})
	var said bytes.Buffer
	cmd := command(ui.NewStreams(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &said, ErrOut: &said}), flags)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Logf("%v: %v\n%s", args, err, said.String())
	}
	return out
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
