// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect makes what a command needs to talk to the API server when the command
// needs it, so that help and wrong usage cost nothing.
package connect

import (
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
)

// Clients are those of one command.
type Clients struct {
	*ui.Streams
	Flags *genericclioptions.ConfigFlags
}

// Config is what the kubeconfig and the flags say.
func (c *Clients) Config() (*rest.Config, error) { return c.Flags.ToRESTConfig() }

// Namespace is the one of -n or of the kubeconfig's context.
func (c *Clients) Namespace() (string, error) {
	ns, _, err := c.Flags.ToRawKubeConfigLoader().Namespace()
	return ns, err
}

// Dynamic reads and writes whole objects of any kind, and shows what the API server
// warns of, each warning once.
func (c *Clients) Dynamic() (dynamic.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NewWarningWriter(c.ErrOut, rest.WarningWriterOptions{
		Deduplicate: true,
		Color:       printers.AllowsColorOutput(c.ErrOut),
	})
	return dynamic.NewForConfig(config)
}

// Metadata reads the metadata of any object.
func (c *Clients) Metadata() (metadata.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return metaclient.NewForConfig(config)
}
