// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// clients are those of a command of the plugin.
type clients struct{ *connect.Clients }

func newClients(s *ui.Streams) *clients {
	flags := genericclioptions.NewConfigFlags(true)
	// No limit on this side: the API server has its own, and work is bounded.
	flags.WithDiscoveryQPS(-1)
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.QPS = -1
		config.UserAgent = fmt.Sprintf("kubectl-holdfast/%s (%s/%s)", version.Version, runtime.GOOS, runtime.GOARCH)
		// Reading over all kinds would warn of each deprecated one.
		config.WarningHandler = rest.NoWarnings{}
		return config
	})
	return &clients{&connect.Clients{Streams: s, Flags: flags}}
}

func (c *clients) mapper() (meta.RESTMapper, error) { return c.Flags.ToRESTMapper() }

// discovery asks the API server itself, never the cache on disk: "all kinds"
// must have the kind that was installed a minute ago.
func (c *clients) discovery() (discovery.DiscoveryInterface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return discovery.NewDiscoveryClientForConfig(config)
}
