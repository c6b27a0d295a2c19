// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/check"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

const checkHelp = `Look at a cluster before Holdfast is installed there, or after, and say

  - whether its API server has what Holdfast needs, and you may install it;
  - how Holdfast is: its kinds, its rules, its pods, how long its certificates last;
  - who else guards the cluster: HNC, Config Sync, the Strimzi Drain Cleaner, Strimzi's
    operator, Karmada, OpenKruise, and other webhooks that are asked about the same;
  - of each feature in which namespaces it holds, or would, and what it is about there:
    objects that are protected, pods whose eviction it would answer, trees, RootSyncs and
    what several of them have, service accounts that would change.

A PROBLEM keeps Holdfast from doing what it is to do; a WARNING has to be dealt with before
something is turned on, or soon. It only reads.

It goes by the configuration in force, and where there is none by the defaults;
--configuration says what would be so with another one.

The exit code is 0 without problems, 1 with some, and 2 if a cluster, or a part of one,
could not be looked at.

-o json and -o yaml give a HoldfastCheck: clusters with context, server, kubernetes,
holdfast, findings (area, level, message, remedy), features (name, mode,
namespacesInScope, namespacesOutOfScope, counts) and notLookedAt (part, reason).`

// checkOptions are what the command line of check says.
type checkOptions struct {
	contexts              []string
	configuration, output string
}

func newCheckCommand(c *clients, runF func(*checkOptions) error) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether a cluster is ready for Holdfast, and how Holdfast is doing there",
		Long:  checkHelp,
		Example: `  # Is this cluster ready, and what would Holdfast do?
  kubectl holdfast check

  # With the configuration that it is to have, in two clusters, for a script
  kubectl holdfast check --context staging --context production --configuration config.yaml -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(o.output, whyFormats); err != nil {
				return err
			}
			return orTest(c.check, runF)(cmd.Context(), o)
		},
	}
	// In the place of the flag of every command, of which the last one counts.
	cmd.Flags().StringArrayVar(&o.contexts, "context", nil, "The context of the kubeconfig to look at; give it several times for several clusters")
	cmd.Flags().StringVar(&o.configuration, "configuration", "", "File with the HoldfastConfiguration to go by")
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

func (c *clients) check(ctx context.Context, o *checkOptions) error {
	options := check.Options{Namespace: *c.Flags.Namespace, Version: version.Version, Output: o.output}
	if options.Namespace == "" { // that of the kubeconfig does not count
		options.Namespace = defaultNamespace
	}
	if o.configuration != "" {
		text, err := config.ReadFile(o.configuration)
		if err == nil {
			_, err = config.Load(text)
		}
		if err != nil {
			return usageError{fmt.Errorf("read %s: %w", o.configuration, err)}
		}
		options.Configuration = string(text)
	}
	var targets []check.Target
	for _, name := range o.contexts {
		targets = append(targets, c.of(name).target(name))
	}
	if len(targets) == 0 {
		targets = []check.Target{c.target(*c.Flags.Context)}
	}
	err := check.Run(ctx, c.Streams, options, targets)
	if errors.Is(err, check.ErrProblems) {
		return errReported
	}
	return err
}

// of are the clients of another context of the kubeconfig.
func (c *clients) of(name string) *clients {
	out := newClients(c.Streams)
	from, to := c.Flags, out.Flags
	to.KubeConfig, to.CacheDir, to.ClusterName, to.AuthInfoName = from.KubeConfig, from.CacheDir, from.ClusterName, from.AuthInfoName
	to.Namespace, to.APIServer, to.TLSServerName, to.Insecure = from.Namespace, from.APIServer, from.TLSServerName, from.Insecure
	to.CertFile, to.KeyFile, to.CAFile, to.BearerToken = from.CertFile, from.KeyFile, from.CAFile, from.BearerToken
	to.Impersonate, to.ImpersonateUID, to.ImpersonateGroup, to.ImpersonateUserExtra = from.Impersonate, from.ImpersonateUID, from.ImpersonateGroup, from.ImpersonateUserExtra
	to.Timeout, to.DisableCompression = from.Timeout, from.DisableCompression
	*to.Context = name
	return out
}

func (c *clients) target(name string) check.Target {
	return check.Target{Context: name, Clients: c.Clients, Counters: check.Counters{
		Deletion: c.countProtected, Eviction: c.countEvictions, ServiceAccounts: c.countAccounts,
	}}
}
