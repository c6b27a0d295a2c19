// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/status"
)

const statusHelp = `Say on one screen how Holdfast and all of its features are doing, by what Holdfast has
written into statuses: whether it is ready and what is wrong, the mode of each feature, the
namespaces that are in its scope, how many objects its rules are about, and which rules,
trees, RootSyncs or accounts are not as they should be. A kind that you may not list is named.
What was written stays when nobody writes any more: the leases in the namespace of Holdfast,
holdfast-system or that of -n, say whether a replica leads.

"kubectl holdfast check" looks at the cluster around it as well.

The exit code is 0 if Holdfast is ready and nothing is wrong with it, and 1 otherwise; a
RootSync that fails is not a fault of Holdfast.

-o json and -o yaml give a HoldfastReport: version, ready, scope, features (name, mode,
scope, state) and problems.`

func newStatusCommand(c *clients) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how Holdfast and all of its features are doing",
		Long:  statusHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(output, whyFormats); err != nil {
				return err
			}
			err := status.Run(cmd.Context(), c.Clients, cmp.Or(*c.Flags.Namespace, defaultNamespace), output)
			if errors.Is(err, status.ErrUnwell) {
				return errReported
			}
			return reachable(err)
		},
	}
	addOutputFlag(cmd, &output, whyFormats)
	return cmd
}
