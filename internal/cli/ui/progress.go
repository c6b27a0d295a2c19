// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

const (
	// progressDelay keeps short work silent.
	progressDelay    = 500 * time.Millisecond
	progressInterval = 100 * time.Millisecond

	eraseLine = "\r\x1b[2K"
)

// Progress shows on a terminal how far a piece of work has got.
type Progress struct {
	done       atomic.Int64
	stop, gone chan struct{}
}

// StartProgress begins to count up to a total. Where ErrOut is no terminal
// nothing is ever shown.
func (s *Streams) StartProgress(what string, total int) *Progress {
	p := &Progress{stop: make(chan struct{}), gone: make(chan struct{})}
	if !s.errIsTerminal {
		close(p.gone)
		return p
	}
	go func() {
		defer close(p.gone)
		timer := time.NewTimer(progressDelay)
		defer timer.Stop()
		shown := false
		for {
			select {
			case <-p.stop:
				if shown {
					write(s.ErrOut, eraseLine)
				}
				return
			case <-timer.C:
				write(s.ErrOut, fmt.Sprintf("%s%s: %d of %d", eraseLine, what, p.done.Load(), total))
				shown = true
				timer.Reset(progressInterval)
			}
		}
	}()
	return p
}

// Step counts one.
func (p *Progress) Step() { p.done.Add(1) }

// End takes the display away. It returns when the line is free.
func (p *Progress) End() {
	close(p.stop)
	<-p.gone
}

// Transient shows a line on a terminal in the place of the one before; an empty one takes
// it away. Where ErrOut is no terminal nothing is ever shown.
func (s *Streams) Transient(line string) {
	if s.errIsTerminal {
		write(s.ErrOut, eraseLine+text.Harmless(line))
	}
}
