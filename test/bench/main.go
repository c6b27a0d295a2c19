// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Holdfast costs, each figure beside its floor: the
// same work by a bare client against the same API server in the same run. It
// writes docs/benchmarks.md and fails if a ratio is beyond its bound.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

func main() { os.Exit(program()) }

func program() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrllog.SetLogger(logr.Discard())
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context) (err error) {
	s, err := newSubject(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var rows []row
	for _, measure := range []func(context.Context, *subject) ([]row, error){measureManager, measureDeletes} {
		more, err := measure(ctx, s)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	root, err := cluster.ModuleRoot()
	if err != nil {
		return err
	}
	report := render(rows, machine(s))
	fmt.Print(report)
	if err := os.WriteFile(filepath.Join(root, "docs", "benchmarks.md"), []byte(report), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return beyond(rows)
}
