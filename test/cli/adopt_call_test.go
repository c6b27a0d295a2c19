// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	plugin "github.com/holdfast-dev/holdfast/internal/cli/adopt"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// adoption is one call of the command.
type adoption struct {
	// as somebody else than an administrator.
	as string
	// answer to its question; without one it does not ask.
	answer string
	// writes it may make until its connection is cut; 0 is any number.
	writes int64
	// lost says that the last of them arrives and its answer does not.
	lost bool
	plugin.Options
}

// said is what came of it.
type said struct {
	out, errOut string
	report      plugin.Report
	err         error
	cut         bool
}

// states are those of the steps, as "check done, stand-by already".
func (s said) states() string {
	var out []string
	for _, step := range s.report.Steps {
		out = append(out, step.Name+" "+step.State)
	}
	return strings.Join(out, ", ")
}

// message of a step.
func (s said) message(name string) string {
	for _, step := range s.report.Steps {
		if step.Name == name {
			return step.Message
		}
	}
	return ""
}

func (c adoption) run(t testing.TB, e *testkit.Env) said {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir, flags.Impersonate = new(e.Kubeconfig), new(t.TempDir()), &c.as
	network := &network{}
	network.left.Store(c.writes)
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.QPS = -1
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			if c.writes == 0 {
				return next
			}
			return network.cutting(next, c.lost)
		})
		return config
	})
	if c.Namespace == "" {
		c.Namespace = "holdfast-system"
	}
	if c.Record == "" {
		c.Record = filepath.Join(t.TempDir(), "record.yaml")
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	c.Yes = c.answer == ""
	var out, errOut bytes.Buffer
	streams := ui.NewStreams(genericiooptions.IOStreams{In: strings.NewReader(c.answer), Out: &out, ErrOut: &errOut})
	got := said{err: plugin.Run(t.Context(), streams, flags, c.Options)}
	got.out, got.errOut, got.cut = out.String(), errOut.String(), network.cut.Load()
	if c.Output == ui.JSON {
		if err := json.Unmarshal(out.Bytes(), &got.report); err != nil {
			t.Fatalf("%v: %v in\n%s", got.err, err, &out)
		}
	}
	return got
}

// network is one that is cut after some writes.
type network struct {
	left atomic.Int64
	cut  atomic.Bool
}

var errCut = errors.New("the network is cut")

func (n *network) cutting(next http.RoundTripper, lost bool) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if n.cut.Load() {
			return nil, errCut
		}
		changes := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "reviews") && r.URL.Query().Get("dryRun") == ""
		if !changes {
			return next.RoundTrip(r)
		}
		switch left := n.left.Add(-1); {
		case left < 0:
			n.cut.Store(true)
			return nil, errCut
		case left == 0 && lost:
			n.cut.Store(true)
			if response, err := next.RoundTrip(r); err == nil {
				_ = response.Body.Close()
			}
			return nil, errCut
		}
		return next.RoundTrip(r)
	})
}
