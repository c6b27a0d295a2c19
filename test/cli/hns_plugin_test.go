// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	out, errOut buffer
	requests    requests
	err         error
}

// callHNS runs the plugin as somebody else, or as an administrator if nobody is named.
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
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return r.requests.counting(next) })
		return c
	})
	s := ui.NewStreams(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &r.out, ErrOut: &r.errOut})
	root := plugin.Root(s, flags)
	root.SilenceErrors, root.SilenceUsage = true, true
	flags.AddFlags(root.PersistentFlags())
	root.SetArgs(args)
	r.err = root.ExecuteContext(ctx)
}

// buffer is read while it is written to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// requests are what was asked of the API server, but for what kinds there are.
type requests struct {
	mu    sync.Mutex
	paths []string
}

func (q *requests) counting(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if discovery := len(strings.Split(r.URL.Path, "/")) < 5 && !strings.HasPrefix(r.URL.Path, "/api/v1/"); !discovery {
			q.mu.Lock()
			q.paths = append(q.paths, r.Method+" "+r.URL.Path)
			q.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// count is how many requests there were for a path, or altogether.
func (q *requests) count(paths ...string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(paths) == 0 {
		return len(q.paths)
	}
	n := 0
	for _, p := range q.paths {
		if slices.Contains(paths, p) {
			n++
		}
	}
	return n
}

func (q *requests) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.paths, "\n")
}
