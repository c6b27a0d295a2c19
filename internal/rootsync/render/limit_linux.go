// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// limit bounds how much more memory that can be written this process may get, for good.
// That of addresses is no measure: Go reserves many more than it uses. Files cannot be
// written.
func limit(memory int) error {
	// If there is too little for all, it goes first. It may not be allowed to say so.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	has, err := written()
	if err != nil {
		return err
	}
	for what, most := range map[int]uint64{
		syscall.RLIMIT_DATA: has + uint64(memory), syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0, //nolint:gosec // it is positive
	} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// written is how much memory that can be written this process has.
func written() (bytesNow uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		var kib uint64
		if n, _ := fmt.Sscanf(lines.Text(), "VmData: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/self/status does not say")
}

// endWithParent has a child be killed when the process that has started it is.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
