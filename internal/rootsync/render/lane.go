// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// process is the lane of all Renderers: kustomize keeps its maps for all of the process.
var process lane

// lane lets one build run at a time.
type lane struct {
	mu  sync.Mutex
	now *place
}

// place is that of the build that runs.
type place struct {
	lane  *lane
	what  string
	since time.Time
	// left is closed when the build has ended, late when it should have.
	left, late chan struct{}
}

// enter waits for its turn. It gives up when the build that runs is overdue: that one
// may never end.
func (l *lane) enter(what string, c clock.PassiveClock) (*place, *knv.Error) {
	for {
		mine, other := l.take(what, c.Now())
		if mine != nil {
			return mine, nil
		}
		select {
		case <-other.left:
		case <-other.late:
			select {
			case <-other.left:
				continue
			default:
			}
			return nil, knv.New(knv.InternalRendering, "rendering of %s waits for that of %s, which has been running for %v and cannot be stopped. "+
				"If it does not end by itself, take its RootSync away and restart holdfast-manager sync",
				what, other.what, c.Since(other.since).Round(time.Second))
		}
	}
}

// take is the place if it is free, or else that of the build that has it.
func (l *lane) take(what string, now time.Time) (mine, other *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil {
		return nil, l.now
	}
	l.now = &place{lane: l, what: what, since: now, left: make(chan struct{}), late: make(chan struct{})}
	return l.now, nil
}

func (p *place) leave() {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	p.lane.now = nil
	close(p.left)
}

func (p *place) overdue() { close(p.late) }
