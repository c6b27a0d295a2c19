// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Holdfast costs, each figure beside its floor: the
// same work by a bare client against the same API server in the same run. It
// writes docs/benchmarks.md and fails if a figure is beyond its bound.
//
// With -run only some of it is measured, and the rest of the page stays. With -small
// all of it is measured on little, which shows that the bench works and nothing
// else; then nothing is written.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// measurement is a part of the bench. Each has clusters of its own, so that none
// measures what another left behind.
type measurement struct {
	name, title string
	measure     func(context.Context, *bench) ([]row, error)
}

var measurements = []measurement{
	{"manager", "The manager", measureManager},
	{"deletes", "Deletions", measureDeletes},
	{"passing", "Writes that Holdfast lets pass", measureLetPass},
	{"protections", "Deletions where many ResourceDeletionProtections are defined", measureProtections},
	{"namespaces", "Deletions of Namespaces", measureNamespaces},
	{"labelled", "Many objects protected by label", measureLabelled},
	{"evictions", "Evictions", measureEvictions},
	{"trees", "Trees of namespaces", measureTrees},
	{"rootsync", "RootSyncs", measureRootSyncs},
	{"accounts", "Service accounts", measureAccounts},
	{"selected", "Many objects selected by one ResourceDeletionProtection", measureSelected},
	{"upgrade", "An upgrade from marks that are not bound to their objects", measureUpgrade},
}

func main() { os.Exit(program()) }

func program() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrllog.SetLogger(logr.Discard())
	names := make([]string, 0, len(measurements))
	for _, m := range measurements {
		names = append(names, m.name)
	}
	which := flag.String("run", "", "a regular expression: measure only what it matches of "+strings.Join(names, ", "))
	small := flag.Bool("small", false, "measure on little, to try the bench itself; what it prints means nothing")
	flag.Parse()
	if err := run(ctx, *which, *small); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, which string, small bool) error {
	chosen, err := regexp.Compile(which)
	if err != nil {
		return fmt.Errorf("read -run: %w", err)
	}
	b := newBench(small)
	defer func() { _ = os.RemoveAll(b.dir) }()
	var sections []section
	var rows []row
	var failed []error
	for _, m := range measurements {
		if !chosen.MatchString(m.name) || ctx.Err() != nil {
			continue
		}
		b.progress("%s", m.name)
		more, err := m.measure(ctx, b)
		if err := errors.Join(err, b.close()); err != nil {
			// The others have clusters of their own, and take half an hour.
			failed = append(failed, fmt.Errorf("measure %s: %w", m.name, err))
			b.progress("%s has failed: %v", m.name, err)
			continue
		}
		sections = append(sections, section{title: m.title, rows: more})
		rows = append(rows, more...)
	}
	if len(sections)+len(failed) == 0 {
		return fmt.Errorf("-run=%s matches nothing that is measured", which)
	}
	b.progress("done")
	report := render(sections, machine(b.version))
	fmt.Print(strings.Join(report, "\n"))
	if small {
		return errors.Join(failed...)
	}
	return errors.Join(append(failed, write(report), beyond(rows))...)
}

// write puts what was measured into the page, and leaves the rest of it.
func write(report []string) error {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return err
	}
	name := filepath.Join(root, "docs", "benchmarks.md")
	before, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	if err := os.WriteFile(name, []byte(page(string(before), report)), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
