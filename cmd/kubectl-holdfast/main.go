// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-holdfast is the kubectl plugin of Holdfast: kubectl holdfast and,
// called as kubectl-hns, kubectl hns.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli"
)

func main() {
	os.Exit(cli.Main())
}
