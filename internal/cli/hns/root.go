// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

const rootHelp = `See and change trees of namespaces: the commands of HNC's plugin, with its flags,
its output and its exit codes, for Holdfast and for HNC.

"kubectl hns" and "kubectl holdfast hns" are the same. Every failure ends with
exit code 1. What HNC's plugin says of a failure comes on standard output, where
scripts look for it.`

// Command is "hns" with its commands, to stand below another command.
func Command(s *ui.Streams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	c := &client{&connect.Clients{Streams: s, Flags: flags}}
	cmd := &cobra.Command{
		Use:   "hns",
		Short: "See and change trees of namespaces, as kubectl hns",
		Long:  rootHelp,
		Args:  knownSubcommand,
		RunE:  help,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	cmd.AddCommand(
		newCreateCommand(c),
		newDeleteCommand(c),
		newDescribeCommand(c),
		newSetCommand(c),
		newTreeCommand(c),
		newGetCommand(c),
		newConfigCommand(c),
		newHRQCommand(c),
		newVersionCommand(c),
	)
	return cmd
}

// Root is the whole command line of kubectl-hns. Flags of the connection are not
// added to it.
func Root(s *ui.Streams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	cmd := Command(s, flags)
	cmd.Use = "kubectl-hns"
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl hns"}
	cmd.Version = version.Version
	cmd.SetVersionTemplate(versionLine("{{.Version}}"))
	return cmd
}

func versionLine(v string) string { return "kubectl-hns version " + v + "\n" }

func newVersionCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this plugin",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			c.Printf("%s", versionLine(version.Version))
			return nil
		},
	}
}
