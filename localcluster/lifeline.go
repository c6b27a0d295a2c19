// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// A lifeline is a pipe whose write end only the supervisor holds. The kernel closes that end however
// the supervisor ends, by SIGKILL too, and a component that reads the end of the pipe ends itself.
// A parent-death signal would do the same on Linux alone.

// lifelineEnv tells a component which of its file descriptors is the read end.
const lifelineEnv = "LOCALCLUSTER_LIFELINE"

// newLifeline returns the end to hand to components and the end to keep open.
func newLifeline() (read, hold *os.File, err error) {
	read, hold, err = os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("create the components' lifeline: %w", err)
	}
	return read, hold, nil
}

// followLifeline ends this process when the supervisor that started it is gone. It does nothing in a
// process that no supervisor started.
func followLifeline() {
	fd, err := strconv.Atoi(os.Getenv(lifelineEnv))
	if err != nil {
		return
	}
	// Neither is for the component's own children, such as credential plugins.
	_ = os.Unsetenv(lifelineEnv)
	syscall.CloseOnExec(fd)

	pipe := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		write(os.Stderr, "localcluster: the supervisor is gone, ending\n")
		os.Exit(1)
	}()
}
