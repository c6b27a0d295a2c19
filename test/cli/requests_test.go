// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http"
	"slices"
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

// requests records the requests that a client makes. It is safe for concurrent use.
type requests struct {
	mu  sync.Mutex
	all []*http.Request
}

// recording returns next with a record of what passes.
func (q *requests) recording(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		q.mu.Lock()
		q.all = append(q.all, r)
		q.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// paths returns method and path of each request but those of discovery.
func (q *requests) paths() (out []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.all {
		if len(strings.Split(r.URL.Path, "/")) >= 5 || strings.HasPrefix(r.URL.Path, "/api/v1/") {
			out = append(out, r.Method+" "+r.URL.Path)
		}
	}
	return out
}

// count returns how many requests went to one of the paths, or to any if none is given.
func (q *requests) count(paths ...string) (n int) {
	for _, p := range q.paths() {
		if len(paths) == 0 || slices.Contains(paths, p) {
			n++
		}
	}
	return n
}

func (q *requests) String() string { return strings.Join(q.paths(), "\n") }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// requestsOf runs a command and returns its requests to the API server.
func requestsOf(
	t *testing.T, env *testkit.Env, command func(*ui.Streams, *genericclioptions.ConfigFlags) *cobra.Command, args ...string,
) []*http.Request {
	t.Helper()
	var made requests
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir = new(env.Kubeconfig), new(t.TempDir())
	flags.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.Wrap(made.recording)
		return c
	})
	var output bytes.Buffer
	cmd := command(ui.NewStreams(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &output, ErrOut: &output}), flags)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Logf("%v: %v\n%s", args, err, &output)
	}
	return made.all
}
