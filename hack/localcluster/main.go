// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Localcluster builds the local control plane if it is not in the cache yet, shows the progress on
// stderr, and prints the path of the binary.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	path, err := cluster.Binary(ctx, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
