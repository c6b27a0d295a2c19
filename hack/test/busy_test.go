// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// children counts the processes that this process started, ps included.
func children(t *testing.T) (n int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for parent := range strings.FieldsSeq(string(out)) {
		if parent == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// Not parallel: other tests start processes too.
func TestKeepBusy_leavesNothingRunning(t *testing.T) {
	stop, err := keepBusy(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	before := children(t)
	stop()
	if after := children(t); before < 4 || after != before-3 {
		t.Errorf("%d processes before, %d after", before, after)
	}
}
