// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows Holdfast on a real cluster: it starts a local control plane
// (or takes the one that HOLDFAST_KUBECONFIG names), installs Holdfast and tells
// its story with kubectl. It exits non-zero when anything came out otherwise
// than it said.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var errUsage = errors.New("say run (tell the story on a cluster of its own, and end it), " +
	"up (leave a cluster running with Holdfast in it) or down (end what up started)")

func main() { os.Exit(program()) }

func program() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; everything that was started has ended")
		}
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}

func command(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	switch args[0] {
	case "run":
		return run(ctx)
	case "up":
		return up(ctx)
	case "serve": // what up leaves behind
		return serve(ctx)
	case "down":
		return down(ctx)
	default:
		return errUsage
	}
}
