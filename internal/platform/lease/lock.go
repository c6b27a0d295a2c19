// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// ErrLost is the error of a write that was not sent, since another replica may lead.
var ErrLost = errors.New("the lease may be another replica's: nothing is written until it is renewed")

// Lock is a lock for leader election that remembers when it was renewed. It is safe for concurrent use.
type Lock struct {
	resourcelock.Interface

	duration time.Duration
	clock    clock.PassiveClock

	mu sync.Mutex
	// led reports whether this process has held the lease, and held whether it did when the lease was last seen.
	led, held bool
	renewed   time.Time
}

// NewLock wraps a lock whose lease expires when it was not renewed for a duration.
func NewLock(l resourcelock.Interface, duration time.Duration, c clock.PassiveClock) *Lock {
	return &Lock{Interface: l, duration: duration, clock: c}
}

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.mu.Lock()
		l.held = false
		l.mu.Unlock()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

// write counts the lease from before the request: others count it from after.
func (l *Lock) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	before := l.clock.Now()
	if err := send(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = record.HolderIdentity == l.Identity()
	if l.held {
		l.led, l.renewed = true, before
	}
	return nil
}

// Check returns ErrLost if this process has led and the lease may be another's by now. A process that has never led has no
// writes of a leader under way.
func (l *Lock) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.led || l.held && l.age() < l.duration {
		return nil
	}
	return ErrLost
}

// age is how long ago the lease was renewed. The monotonic clock of a virtual machine stands still while it is suspended, and
// the wall clock can be set back: the later of the two counts.
func (l *Lock) age() time.Duration {
	now := l.clock.Now()
	return max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
}

// Fence returns a transport that sends a request which can change something only while Check returns nil.
func (l *Lock) Fence(next http.RoundTripper) http.RoundTripper {
	return &fence{lock: l, next: next}
}

type fence struct {
	lock *Lock
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		if err := f.lock.Check(); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // as http.RoundTripper demands
			}
			return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
		}
	}
	return f.next.RoundTrip(req)
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (f *fence) WrappedRoundTripper() http.RoundTripper { return f.next }
