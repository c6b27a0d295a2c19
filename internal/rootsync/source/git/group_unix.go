// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// endTogether has a program end with all that it has started.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
