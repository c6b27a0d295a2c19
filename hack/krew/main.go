// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Krew builds the archives of kubectl-holdfast that a release has, and the manifest by which
// krew, the package manager of kubectl plugins, installs them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() { os.Exit(start()) }

func start() int {
	o := options{pkg: "./cmd/kubectl-holdfast", name: "kubectl-holdfast", license: "LICENSE"}
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms to build for")
	flag.StringVar(&o.dir, "o", "bin/krew", "folder for the archives and the manifest")
	flag.StringVar(&o.version, "version", "", "version of the release, as 1.2.3")
	flag.StringVar(&o.url, "url", "https://github.com/holdfast-dev/holdfast/releases/download", "where the archives of releases are")
	flag.Parse()
	o.platforms = strings.Split(*platforms, ",")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}
