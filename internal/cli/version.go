// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// versionTimeout bounds the look at the server: the version of the client is an
// answer too.
const versionTimeout = 5 * time.Second

// versionOptions are what the command line of version says.
type versionOptions struct {
	clientOnly bool
	output     string
}

// versions is the structured output of version.
type versions struct {
	metav1.TypeMeta `json:",inline"`
	Client          string `json:"client"`
	Server          string `json:"server,omitempty"`
	// Problem says why the server's is not known.
	Problem string `json:"problem,omitempty"`
}

var versionFormats = []string{ui.JSON, ui.YAML}

func newVersionCommand(c *clients, runF func(*versionOptions) error) *cobra.Command {
	o := &versionOptions{}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this plugin and of Holdfast in the cluster",
		Long: `Show the version of this plugin and of Holdfast in the cluster.

Holdfast's is read from the object holdfasts.holdfast.dev/holdfast. That it
cannot be read is not an error of this command.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(o.output, versionFormats); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return c.version(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.clientOnly, "client", false, "Show the version of this plugin only, and ask no cluster")
	addOutputFlag(cmd, &o.output, versionFormats)
	return cmd
}

func (c *clients) version(ctx context.Context, o *versionOptions) error {
	v := versions{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "Version"},
		Client:   version.Version,
	}
	if !o.clientOnly {
		var err error
		if v.Server, err = c.serverVersion(ctx); err != nil {
			v.Problem = err.Error()
		}
	}
	if o.output != "" {
		return c.Encode(o.output, v)
	}
	c.Printf("Client Version: %s\n", v.Client)
	if v.Server != "" {
		c.Printf("Holdfast Version: %s\n", v.Server)
	}
	if v.Problem != "" {
		c.Notef("the version of Holdfast in the cluster is not known: %s", v.Problem)
	}
	return nil
}

func (c *clients) serverVersion(ctx context.Context) (string, error) {
	client, err := c.Dynamic()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	h, err := connect.Holdfast(ctx, client)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("there is no object holdfasts.%s/%s: Holdfast is not installed, or has not started yet", v1alpha1.GroupName, v1alpha1.HoldfastName)
	case err != nil:
		return "", err
	}
	if h.Status.Version == "" {
		return "", fmt.Errorf("the object holdfasts.%s/%s does not say", v1alpha1.GroupName, v1alpha1.HoldfastName)
	}
	return h.Status.Version, nil
}
