// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Clidocs prints the reference of the command line, in Markdown, from what its commands say in --help.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli"
)

func main() {
	// A default that holds the home folder reads the same wherever this runs.
	err := os.Setenv("HOME", "~")
	if err == nil {
		err = os.Unsetenv("KUBECACHEDIR")
	}
	if err == nil {
		_, err = os.Stdout.WriteString(page(cli.Command()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
