// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const rootHelp = `See how RootSyncs are doing, have them sync at once or stop, find out where an object
comes from, see what the next sync would change, and check a folder before it is pushed.`

// outputVersion is the apiVersion of structured output. Fields may be added to it.
const outputVersion = "cli.holdfast.dev/v1alpha1"

// Command is "sync" with its commands, to stand below another command.
func Command(s *ui.Streams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	c := &client{&connect.Clients{Streams: s, Flags: flags}}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "See and steer what RootSyncs bring from Git to the cluster",
		Long:  rootHelp,
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	cmd.AddCommand(
		newStatusCommand(c),
		newNowCommand(c),
		newSuspendCommand(c),
		newResumeCommand(c),
		newTraceCommand(c),
		newDiffCommand(c),
		newVetCommand(c),
	)
	return cmd
}
