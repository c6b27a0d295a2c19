// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows Holdfast on a real cluster: it starts a local control plane
// (or takes the one that HOLDFAST_KUBECONFIG names, which must have no Holdfast
// and is left as it was), installs Holdfast and tells its story with kubectl. It
// exits non-zero when anything came out otherwise than it said.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// kubeconfigVariable names an existing cluster to use instead of a local one.
const kubeconfigVariable = "HOLDFAST_KUBECONFIG"

var errUsage = errors.New("say run (tell the story on a cluster of its own, and end it), " +
	"up (leave a cluster running with Holdfast in it) or down (end what up started)")

// errLeave says that something may still be there that was started or made here.
var errLeave = errors.New("clean up")

// demo is what a command is given.
type demo struct {
	// out gets the story, progress what happens around it.
	out, progress io.Writer
	// kubeconfig of an existing cluster; without one a local one is started.
	kubeconfig string
	// dir is the folder in which up makes .local.
	dir string
	// features are what up turns on.
	features features
}

func main() { os.Exit(program()) }

func program() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(logr.Discard()) // what matters is an error, and is printed
	d := demo{out: os.Stdout, progress: os.Stderr, kubeconfig: os.Getenv(kubeconfigVariable)}
	if err := d.command(ctx, os.Args[1:]); err != nil {
		switch {
		case ctx.Err() == nil:
		case errors.Is(err, errLeave):
			err = fmt.Errorf("interrupted: %w", err)
		default:
			err = errors.New("interrupted; everything that was started has ended")
		}
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}

func (d demo) command(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("demo "+args[0], flag.ContinueOnError)
	flags.SetOutput(d.progress)
	flags.StringVar(&d.dir, "dir", "", "`folder` in which up makes .local, instead of the root of the module")
	list := flags.String("features", "", "what up turns on beside the guards: all, or a `list` of "+strings.Join(allFeatures, ", ")+" with commas")
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	if d.features, err = parseFeatures(*list); err != nil {
		return err
	}
	if len(d.features) > 0 && d.kubeconfig != "" {
		return fmt.Errorf("features are turned on on a local control plane only, and %s names another: leave one of the two out", kubeconfigVariable)
	}
	if err := d.complete(); err != nil {
		return err
	}
	switch args[0] {
	case "run":
		return d.run(ctx)
	case "up":
		return d.up(ctx)
	case "serve": // what up leaves behind
		return d.serve(ctx)
	case "down":
		return d.down(ctx)
	default:
		return errUsage
	}
}

// complete makes paths absolute, for commands run in other folders.
func (d *demo) complete() (err error) {
	if d.dir == "" {
		if d.dir, err = cluster.ModuleRoot(); err != nil {
			return err
		}
	}
	for _, path := range []*string{&d.dir, &d.kubeconfig} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}
