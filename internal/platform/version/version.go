// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version knows which version of Holdfast a binary is.
package version

// Version is set at build time:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/platform/version.Version=1.2.3"
var Version = "0.1.0-dev"
