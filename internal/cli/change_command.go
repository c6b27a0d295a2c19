// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// newChangeCommand makes protect or unprotect. Texts and flags of its own are
// added to what it returns.
func newChangeCommand(c *clients, verb string, o *changeOptions, carryOut func(context.Context, *changeOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:               verb + " (TYPE NAME... | TYPE/NAME... | [TYPE] -l SELECTOR)",
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			return carryOut(cmd.Context(), o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

// orTest is what a command carries out: what it is there for or, in tests of the
// command line, something else.
func orTest[T any](carryOut func(context.Context, T) error, runF func(T) error) func(context.Context, T) error {
	if runF == nil {
		return carryOut
	}
	return func(_ context.Context, o T) error { return runF(o) }
}
