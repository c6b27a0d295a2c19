// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/version"
	"github.com/holdfast-dev/holdfast/internal/rootsync/render"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
)

// Main runs the manager and returns the exit code of the process.
func Main() int {
	if code, asked := helper.Main(); asked { // by git, which the sync runs
		return code
	}
	if code, asked := render.Main(); asked { // by the sync
		return code
	}
	ctx := ctrl.SetupSignalHandler()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast-manager",
		Short:         "Holdfast keeps shared clusters safe to change",
		Version:       version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newGuardCommand(), newSyncCommand())
	return root
}

func newGuardCommand() *cobra.Command {
	o := NewOptions()
	return newWorkload("guard", "Guard an API server: admission objects, webhooks and the controllers behind them",
		o.Flags(), o.Validate, &o.Common, func(ctx context.Context) error { return run(ctx, o) })
}

func newSyncCommand() *cobra.Command {
	o := NewSyncOptions()
	return newWorkload("sync", "Keep a cluster as RootSyncs say: from Git repositories and images",
		o.Flags(), o.Validate, &o.Common, func(ctx context.Context) error { return runSync(ctx, o) })
}

// newWorkload is the command of one workload.
func newWorkload(name, short string, sets cliflag.NamedFlagSets, validate func() error, common *Common, start func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validate(); err != nil {
				return err
			}
			if err := setupLogging(common.LogLevel); err != nil {
				return err
			}
			collectAtFirst()
			limitMemory()
			return start(cmd.Context())
		},
	}
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	width, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sets, width)
	return cmd
}

// run starts everything and ends with the context.
func run(ctx context.Context, o *Options) error {
	g, err := newGuard(ctx, o)
	if err != nil {
		return err
	}
	return g.mgr.Start(ctx)
}
