// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errFull is that nothing of a capacity is left for a client.
var errFull = errors.New("the webhook server has no capacity left")

// cutTime bounds the wait until a hold that was cut is released. It takes the wake-up of a goroutine, which is long only on a
// machine that has much else to do.
const cutTime = 5 * time.Second

// share divides a capacity among clients. While there is none left, a client that holds less than another takes it from
// that one: a hold that waits for its own client is cut, such as a body that is still being sent. What the server is
// working on is cut only for a client that has most of the capacity. Of several that wait for capacity, the client that
// holds the least is the first.
type share struct {
	capacity int64
	// grace is how long a hold has had to wait for its client before a client that holds no less is preferred to it.
	grace time.Duration
	// most is what one client may have before others take from it what the server is working on; 0 is no limit.
	most int64

	mu      sync.Mutex
	used    int64
	holds   map[*hold]struct{}
	clients map[string]int64 // of holds that are not cut
	queue   []*demand
}

// hold is a part of the capacity.
type hold struct {
	of     *share
	client string
	n      int64
	cut    func()

	// waiting reports whether the hold waits for its client, since a time.
	waiting bool
	since   time.Time
	// gone is that it was cut, and will be released.
	gone bool
}

// demand waits for capacity.
type demand struct {
	*hold
	granted chan struct{}
}

func newShare(capacity int64, grace time.Duration) *share {
	return &share{capacity: capacity, grace: grace, holds: map[*hold]struct{}{}, clients: map[string]int64{}}
}

// take returns a hold of n for a client, which begins as one that waits for the client, or errFull. It waits for at most
// patience until others release something. cut makes whoever has the hold release it; it must not block, nor call the
// share.
func (s *share) take(ctx context.Context, client string, n int64, patience time.Duration, cut func()) (*hold, error) {
	d := &demand{&hold{of: s, client: client, n: n, cut: cut, waiting: true}, make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, d)
	s.grant()
	cuts, enough := s.preempt(d)
	s.mu.Unlock()
	for _, cut := range cuts {
		cut()
	}
	if enough {
		patience = max(patience, cutTime)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.granted:
	case <-timer.C:
	case <-ctx.Done():
	}
	return s.settle(d)
}

// settle ends a demand.
func (s *share) settle(d *demand) (*hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, d); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		s.grant() // those behind it may need less
		return nil, errFull
	}
	return d.hold, nil
}

// grant gives what is left to those that wait for it.
func (s *share) grant() {
	for len(s.queue) > 0 {
		first := slices.MinFunc(s.queue, func(a, b *demand) int { return int(s.clients[a.client] - s.clients[b.client]) })
		if s.used+first.n > s.capacity {
			return
		}
		s.queue = slices.Delete(s.queue, slices.Index(s.queue, first), slices.Index(s.queue, first)+1)
		first.since = time.Now()
		s.used += first.n
		s.clients[first.client] += first.n
		s.holds[first.hold] = struct{}{}
		close(first.granted)
	}
}

// preempt chooses holds to cut so that a demand can be met, and reports whether it can.
func (s *share) preempt(d *demand) (cuts []func(), enough bool) {
	if !slices.Contains(s.queue, d) {
		return nil, true
	}
	free := s.capacity - s.used
	for h := range s.holds {
		if h.gone {
			free += h.n
		}
	}
	var victims []*hold
	for free < d.n {
		v := s.victim(d)
		if v == nil {
			for _, v := range victims { // they would be cut in vain
				v.gone = false
				s.clients[v.client] += v.n
			}
			return nil, false
		}
		v.gone = true
		s.spend(v.client, v.n)
		free += v.n
		victims, cuts = append(victims, v), append(cuts, v.cut)
	}
	return cuts, true
}

// victim is the hold that a demand is preferred to: the one that has waited longest, of the client that holds most.
func (s *share) victim(d *demand) *hold {
	var v *hold
	for h := range s.holds {
		if !s.cuttable(h, d) {
			continue
		}
		if v == nil || s.clients[h.client] > s.clients[v.client] || s.clients[h.client] == s.clients[v.client] && h.since.Before(v.since) {
			v = h
		}
	}
	if v != nil && (s.clients[v.client] > s.clients[d.client]+d.n || time.Since(v.since) >= s.grace) {
		return v
	}
	return nil
}

// cuttable reports whether a hold may be cut for a demand.
func (s *share) cuttable(h *hold, d *demand) bool {
	if h.gone || s.clients[h.client] < s.clients[d.client] {
		return false
	}
	return h.waiting || h.client != d.client && s.hogs(h.client)
}

// hogs reports whether a client has so much that what the server works on for it is cut, too.
func (s *share) hogs(client string) bool { return s.most > 0 && s.clients[client] > s.most }

func (s *share) spend(client string, n int64) {
	if s.clients[client] -= n; s.clients[client] == 0 {
		delete(s.clients, client)
	}
}

// inUse is how much of the capacity is held.
func (s *share) inUse() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.used)
}

// busy is that the server works on what the hold is for: it is not cut. It reports false if it was cut already.
func (h *hold) busy() bool { return h.set(false) }

// waits is that the server waits for the client again.
func (h *hold) waits() { h.set(true) }

func (h *hold) set(waiting bool) bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.waiting, h.since = waiting, time.Now()
	return !h.gone
}

// release gives it back. Releasing again does nothing.
func (h *hold) release() {
	s := h.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.holds[h]; !held {
		return
	}
	delete(s.holds, h)
	s.used -= h.n
	if !h.gone {
		s.spend(h.client, h.n)
	}
	s.grant()
}

// wasCut reports whether the hold was cut.
func (h *hold) wasCut() bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	return h.gone
}
