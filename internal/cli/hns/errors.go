// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// ErrTold is a failure about which everything has been said. Its exit code is 1,
// as that of every failure of this plugin: HNC's has no other.
var ErrTold = errors.New("the failure was reported")

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// fail says what went wrong where HNC's plugin says it, and where scripts look for
// it: on Out.
func (c *client) fail(format string, args ...any) error {
	c.Printf("%s\n", fmt.Sprintf(format, args...))
	return ErrTold
}

// oneArgument is the Args of a command that takes exactly one.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return UsageError{fmt.Errorf("'%s' needs %s", cmd.CommandPath(), what)}
		}
		return UsageError{fmt.Errorf("'%s' takes %s, but got %q", cmd.CommandPath(), what, args)}
	}
}

// noArguments is the Args of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError{fmt.Errorf("'%s' takes no arguments, but got %q", cmd.CommandPath(), args)}
	}
	return nil
}

// knownSubcommand refuses arguments of a command that only has subcommands.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UsageError{fmt.Errorf("there is no command %q in '%s'", args[0], cmd.CommandPath())}
}

// help is the RunE of such a command.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }
