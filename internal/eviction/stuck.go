// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostStuck bounds what is remembered; the oldest goes.
	mostStuck = 10_000
	// forgetStuck is the longest deadline that a policy can have.
	forgetStuck = 168 * time.Hour
)

// stuck remembers since when evictions of a pod have been refused because the pod
// cannot be written to: a deadline that cannot be written down counts as well. It
// is the memory of one replica.
type stuck struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// lasts is how long that has been so.
func (s *stuck) lasts(uid types.UID, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.since[uid]
	if !ok {
		s.makeRoom(now)
		s.since[uid], since = now, now
	}
	return now.Sub(since)
}

func (s *stuck) makeRoom(now time.Time) {
	if s.since == nil {
		s.since = map[types.UID]time.Time{}
	}
	var oldest types.UID
	for uid, since := range s.since {
		if now.Sub(since) > forgetStuck {
			delete(s.since, uid)
		} else if oldest == "" || since.Before(s.since[oldest]) {
			oldest = uid
		}
	}
	if len(s.since) >= mostStuck {
		delete(s.since, oldest)
	}
}
