// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

const runUsage = `Run a cluster in the foreground.

When the cluster is ready, and after every request, a line of JSON on standard output has its state.
SIGINT, SIGTERM and SIGHUP end it. Lines of standard input are requests:
  stop-apiserver      stop the API server
  restart-apiserver   restart the API server, or start it after a stop
  reset               put everything that is stored back to what it was when the cluster was new

Usage:
  localcluster run --dir DIR [flags]

Flags:
`

// options are the flags of the run command.
type options struct {
	dir                   string
	ephemeral, untilEOF   bool
	timeout               time.Duration
	featureGates          []string
	runtimeConfig         []string
	apiServerArgs         []string
	controllerManagerArgs []string
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("localcluster run", pflag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder for the keys, the data and the logs; a cluster that is there is started again with its data")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "remove the folder at the end; without --dir it is a new temporary folder")
	flags.BoolVar(&o.untilEOF, "until-eof", false, "end when standard input ends, as it does with the process that holds it")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long a start or a restart may take")
	flags.StringArrayVar(&o.featureGates, "feature-gates", nil, "Name=true for the API server and the controller manager; repeatable")
	flags.StringArrayVar(&o.runtimeConfig, "runtime-config", nil, "group/version=true for the API server; repeatable")
	flags.StringArrayVar(&o.apiServerArgs, "apiserver-arg", nil, "a whole flag for the API server, such as --v=4; repeatable")
	flags.StringArrayVar(&o.controllerManagerArgs, "controller-manager-arg", nil, "a whole flag for the controller manager; repeatable")
	flags.Usage = func() { write(os.Stderr, runUsage+flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.dir == "" && !o.ephemeral {
		return o, errors.New("--dir or --ephemeral is required")
	}
	return o, nil
}

// errEnd is why the context of a run ends when the run was asked to end.
var errEnd = errors.New("asked to end")

// runCommand runs a cluster until it is asked to end and returns the exit code.
func runCommand(args []string) int {
	o, err := parseOptions(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	progress := log.New(os.Stderr, "localcluster: ", 0)
	if err != nil {
		progress.Print(err)
		return 2
	}
	if err := run(o, os.Stdin, os.Stdout, progress); err != nil {
		progress.Print(err)
		return 1
	}
	return 0
}

func run(o options, stdin io.Reader, stdout io.Writer, progress *log.Logger) (err error) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	watchSignals(end)
	requests := make(chan string)
	go func() {
		for lines := bufio.NewScanner(stdin); lines.Scan(); {
			select {
			case requests <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
		if o.untilEOF { // an input that cannot be read has ended, too
			end(errEnd)
		}
	}()

	dir, err := openClusterDir(o.dir, o.ephemeral)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	lifeline, hold, err := newLifeline()
	if err != nil {
		return err
	}
	defer lifeline.Close()
	defer hold.Close() // until here it must stay open, or the components end

	s := &supervisor{options: o, files: layout{dir.path}, lifeline: lifeline, status: stdout, progress: progress}
	defer s.stop()
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.serve(ctx, requests)
}

// watchSignals calls end on the first signal that asks for it. A second such signal ends this process
// at once, and the lifeline the components.
func watchSignals(end context.CancelCauseFunc) {
	// Whoever read the output may be gone: then a write must fail, not end this process by a signal
	// before it has stopped the components. The signal is caught, not ignored, because components
	// would inherit its being ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ends
		signal.Stop(ends)
		end(errEnd)
	}()
}
