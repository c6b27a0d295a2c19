// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// Main runs the manager and returns the exit code of the process.
func Main() int {
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
	root.AddCommand(newGuardCommand())
	return root
}

func newGuardCommand() *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Guard an API server: admission objects, webhooks and the controllers behind them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if err := setupLogging(o.LogLevel); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	sets := o.Flags()
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	width, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sets, width)
	return cmd
}

// setupLogging sends all logs, those of the libraries too, to standard error as
// JSON lines.
func setupLogging(level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q is not debug, info, warn or error", level)
	}
	handler := slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l})
	slog.SetDefault(slog.New(handler)) // and with it the log package, which net/http writes to
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

// run starts everything and ends with the context.
func run(ctx context.Context, o *Options) error {
	g, err := newGuard(ctx, o)
	if err != nil {
		return err
	}
	return g.mgr.Start(ctx)
}
