// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Localcluster builds the local control plane, and kwok, which plays nodes, if they are not in the cache
// yet. It shows the progress on stderr and prints the path of each binary, the control plane's first.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := build(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context) error {
	for _, binary := range []func(context.Context, io.Writer) (string, error){cluster.Binary, kwok.Binary} {
		path, err := binary(ctx, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
