// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the programs of a release, so that the same sources and the same
// Go give the same bytes.
package build

import (
	"context"
	"os"
	"os/exec"
)

const versionVariable = "github.com/holdfast-dev/holdfast/internal/platform/version.Version"

// Program is what to compile.
type Program struct {
	// Package is its path for the go command, and OS and Arch what it is to run on.
	Package, OS, Arch string
	// Version of Holdfast; empty for that of the sources.
	Version string
}

// withoutPlugins has kustomize never load Go plugins, as in the binaries that are tested.
const withoutPlugins = "kustomize_disable_go_plugin_support"

// Compile writes a static binary. Nothing in it depends on where or when that is done.
func Compile(ctx context.Context, p Program, path string) error {
	flags := "-s -w -buildid="
	if p.Version != "" {
		flags += " -X " + versionVariable + "=" + p.Version
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", withoutPlugins, "-ldflags", flags, "-o", path, p.Package)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.OS, "GOARCH="+p.Arch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
