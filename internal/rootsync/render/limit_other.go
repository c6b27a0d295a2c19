// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package render

import "syscall"

// limit has only the limit of Go itself elsewhere, which is soft: the sync runs on Linux.
func limit(int) error { return nil }

// endWithParent is left to the pipe, which ends with the parent.
func endWithParent() *syscall.SysProcAttr { return nil }
