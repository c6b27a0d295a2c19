// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package git

import "os/exec"

// endTogether leaves it to a program to end what it has started: the command line runs
// here as well, and the sync does not.
func endTogether(*exec.Cmd) {}
