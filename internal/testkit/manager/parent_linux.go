// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import "syscall"

// endWithParent makes the kernel end the process when this one dies, however it
// dies. A group of its own keeps a terminal's Ctrl-C from it, so that whoever
// started it decides in what order things end.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
