// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime/debug"
	"time"
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
