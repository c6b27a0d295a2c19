// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package manager

import "syscall"

// endWithParent has no such service from the kernel here; a manager whose local
// control plane is gone loses its lease and ends by itself.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
