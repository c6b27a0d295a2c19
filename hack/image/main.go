// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Image builds the manager's image into a folder, as an OCI layout: the static binary on a base,
// or on nothing, and beside it what is in it, as SPDX. It needs no container engine, and the
// same sources, Go and base give the same digest. Any tool pushes a layout: skopeo copy
// oci:bin/image docker://registry.example.com/holdfast-manager:v1
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
	o := options{pkg: "./cmd/holdfast-manager", name: "holdfast-manager"}
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "platforms to build for")
	flag.StringVar(&o.dir, "o", "bin/image", "folder for the layout")
	flag.StringVar(&o.version, "version", "", "version of Holdfast; empty for that of the sources")
	flag.StringVar(&o.base, "base", "", "image to put the manager on, such as one with git for the sync; empty for nothing")
	flag.Parse()
	o.platforms = strings.Split(*platforms, ",")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	digest, err := build(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	fmt.Println(digest)
	return 0
}
