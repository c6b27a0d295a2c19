// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// ErrReported is a failure about which everything has been said.
var ErrReported = errors.New("what is wrong was reported")

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// DiffError is a failure of diff, as which a difference does not count.
type DiffError struct{ error }

func (e DiffError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// knownSubcommand refuses arguments of a command that only has subcommands.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("there is no command %q in '%s'", args[0], cmd.CommandPath())
}

// someOrAll is what is wrong with names beside --all.
func someOrAll(names []string, all bool) error {
	switch {
	case all && len(names) > 0:
		return usage("say which RootSyncs, or --all, and not both")
	case !all && len(names) == 0:
		return usage("say which RootSync, or --all")
	}
	return nil
}

func validOutput(output string, formats []string) error {
	if output != "" && !slices.Contains(formats, output) {
		return usage("there is no output format %q here: use %s", output, strings.Join(formats, ", "))
	}
	return nil
}

func addOutputFlag(cmd *cobra.Command, output *string, formats []string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "Output format: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}
