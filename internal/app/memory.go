// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// starting is how long after its start a process has read what there is.
	starting = 10 * time.Second
	// atFirst and later are how much garbage, in percent of what is in use, is collected
	// at the latest.
	atFirst, later = 50, 100
)

// collectAtFirst has garbage collected more often while a process starts, and gives
// back what that took: the first lists are by far the most that is decoded at once,
// and what is kept of them would stay scattered over all the memory that they needed.
// Whoever sets GOGC knows better.
func collectAtFirst() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(atFirst)
	time.AfterFunc(starting, func() {
		debug.SetGCPercent(later)
		debug.FreeOSMemory()
	})
}

// limitMemory has garbage collected before the container's memory is used up. Else the heap may double between two
// collections, and the kernel would end the process. GOMEMLIMIT in the environment takes precedence.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := memoryLimit(os.DirFS("/")); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9) // the rest is for what the Go runtime does not count
		ctrl.Log.Info("Memory is limited", "container", limit, "GOMEMLIMIT", limit/10*9)
	}
}

// memoryLimit is the lowest memory limit of the process's control groups, of either version, or 0 if there is none.
func memoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if fields[1] != "memory" {
				continue
			}
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A container sees its own group at the root of the folder, and the path in /proc may be that of the host.
		for at := path.Join("/", fields[2]); ; at = path.Dir(at) {
			if limit := readLimit(root, path.Join(folder, at, file)); limit > 0 {
				lowest = min(lowest, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	if lowest >= math.MaxInt64/2 { // version 1 writes a number close to it where there is no limit
		return 0
	}
	return lowest
}

func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return limit
}
