// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// clients makes what a command needs to talk to the API server when the command
// needs it, so that help and wrong usage cost nothing.
type clients struct {
	*ui.Streams
	flags *genericclioptions.ConfigFlags
}

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
	return &clients{Streams: s, flags: flags}
}

// config is what the kubeconfig and the flags say.
func (c *clients) config() (*rest.Config, error) { return c.flags.ToRESTConfig() }

// namespace is the one of -n or of the kubeconfig's context.
func (c *clients) namespace() (string, error) {
	ns, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	return ns, err
}

func (c *clients) mapper() (meta.RESTMapper, error) { return c.flags.ToRESTMapper() }

// metadata reads the metadata of any object.
func (c *clients) metadata() (metadata.Interface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return metadata.NewForConfig(config)
}

// dynamic reads and writes whole objects of any kind, and shows what the API
// server warns of, each warning once.
func (c *clients) dynamic() (dynamic.Interface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NewWarningWriter(c.ErrOut, rest.WarningWriterOptions{
		Deduplicate: true,
		Color:       printers.AllowsColorOutput(c.ErrOut),
	})
	return dynamic.NewForConfig(config)
}

// discovery asks the API server itself, never the cache on disk: "all kinds"
// must have the kind that was installed a minute ago.
func (c *clients) discovery() (discovery.DiscoveryInterface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return discovery.NewDiscoveryClientForConfig(config)
}
