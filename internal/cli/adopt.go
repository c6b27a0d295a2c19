// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/adopt"
)

// defaultNamespace is where Holdfast is installed, if nothing else is said.
const defaultNamespace = "holdfast-system"

const (
	defaultRecord      = adopt.RecordName + ".yaml"
	defaultAdoptionFor = 5 * time.Minute
)

func newAdoptCommand(c *clients) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Take over what another controller keeps",
		Long:  "Take over what another controller keeps.",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAdoptHNCCommand(c, nil))
	return cmd
}

func newAdoptHNCCommand(c *clients, runF func(adopt.Options) error) *cobra.Command {
	o := adopt.Options{Record: defaultRecord, Timeout: defaultAdoptionFor}
	cmd := &cobra.Command{
		Use:   "hnc",
		Short: "Hand the trees of namespaces over from HNC to Holdfast, or back",
		Long: `Hand the trees of namespaces over from HNC to Holdfast, or with --back from
Holdfast to HNC. Each step looks first whether it is so already, and waits until the
cluster shows what it did. Whatever ends the command, run it again: it goes on.

  check     is anything in the way? Quotas of trees, rights, kinds, Holdfast itself.
            Nothing has been changed then
  stand-by  tells Holdfast, in its ConfigMap, to follow the trees and write nothing,
            with what HNC's arguments say; waits until it knows them
  webhooks  keeps HNC's webhook configurations in the ConfigMap holdfast-adopted-hnc,
            and removes them
  scale     scales HNC's Deployments to 0; waits until their pods are gone
  activate  tells Holdfast to keep the trees; waits until its rules are in force
  compare   says which objects Holdfast has written since: none, if HNC had kept them
            in order

Where a dead HNC refuses every write of a namespace, its webhooks go first (unlock),
even before Holdfast can be installed.

--back goes from the end: Holdfast stands by, HNC gets its pods again, and when they
are ready its webhooks.

-n is the namespace that Holdfast is installed in, holdfast-system by default. -o json
and -o yaml give an HNCAdoption: found, notes, configuration, steps with name, state
(done, already, would or failed) and message, and trees.`,
		Example: `  # What would be done?
  kubectl holdfast adopt hnc --dry-run

  # Do it; and the way back
  kubectl holdfast adopt hnc
  kubectl holdfast adopt hnc --back`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Namespace = *c.Flags.Namespace; o.Namespace == "" { // that of the kubeconfig does not count
				o.Namespace = defaultNamespace
			}
			if err := validateAdoption(o); err != nil {
				return err
			}
			return orTest(c.adoptHNC, runF)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Back, "back", false, "Hand the trees back to HNC")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "Show what would be done, and change nothing")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "Do not ask")
	cmd.Flags().StringVar(&o.Record, "record", o.Record, "File to keep HNC's webhook configurations in while there is no namespace of Holdfast; it is read too")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", o.Timeout, "How long to wait for each step")
	addOutputFlag(cmd, &o.Output, whyFormats)
	return cmd
}

func validateAdoption(o adopt.Options) error {
	if err := validateOutput(o.Output, whyFormats); err != nil {
		return err
	}
	switch {
	case o.Record == "":
		return usageError{errors.New("--record is empty: name a file, or leave it out")}
	case o.Timeout <= 0:
		return usageError{errors.New("--timeout is a duration such as 5m, and more than nothing")}
	}
	return nil
}

func (c *clients) adoptHNC(ctx context.Context, o adopt.Options) error {
	return adopt.Run(ctx, c.Streams, c.Flags, o)
}
