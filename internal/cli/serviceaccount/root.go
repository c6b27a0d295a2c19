// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const rootHelp = `See what Holdfast would do to service accounts: which labels and annotations their
objects want on them, and who has set what is there.`

// outputVersion is the apiVersion of structured output. Fields may be added to it.
const outputVersion = "cli.holdfast.dev/v1alpha1"

// ErrReported is an answer, or a failure, about which everything has been said.
var ErrReported = errors.New("what would change was reported")

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// PlanError is a failure of plan, as which a change does not count.
type PlanError struct{ error }

func (e PlanError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// client is what the commands talk to the API server with.
type client struct{ *connect.Clients }

// Command is "serviceaccount" with its commands, to stand below another command.
func Command(s *ui.Streams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	c := &client{&connect.Clients{Streams: s, Flags: flags}}
	cmd := &cobra.Command{
		Use:     "serviceaccount",
		Aliases: []string{"serviceaccounts", "sa"},
		Short:   "See what Holdfast would do to service accounts",
		Long:    rootHelp,
		Args:    knownSubcommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	cmd.AddCommand(newPlanCommand(c))
	return cmd
}

// knownSubcommand refuses arguments of a command that only has subcommands.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("there is no command %q in '%s'", args[0], cmd.CommandPath())
}

// oneOf is what is wrong with the value of a flag; empty is none.
func oneOf(flag, value string, values []string) error {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return usage("%s=%s is not known here: use %s", flag, value, strings.Join(values, " or "))
}
