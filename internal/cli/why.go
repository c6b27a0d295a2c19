// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

func newWhyCommand(c *clients) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why",
		Short: "Explain why something would be refused, or not",
		Long: `Explain what Holdfast has against a request, before or after it was made, by
the same rules that refuse it. Nothing is changed.

The exit code is 0 if it would be allowed and 3 if it would be refused.`,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newWhyDeleteCommand(c, nil), newWhyUpdateCommand(c, nil), newWhyCreateCommand(c, nil), newWhyPruneCommand(c, nil),
		newWhyEvictCommand(c, nil), newWhyDrainCommand(c, nil),
	)
	return cmd
}
