// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// A request that arrives while a look is running does not share it, because what the request is about may have been
// labelled behind the look. All that arrive until the next one begins share that.
func TestShared_begins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShared[time.Time](semaphore.NewWeighted(8))
		looks := 0
		look := func(context.Context) time.Time {
			looks++
			began := time.Now()
			<-time.After(time.Second)
			return began
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				arrived := time.Now()
				began, err := s.do(t.Context(), "shop", look)
				if err != nil || began.Before(arrived) {
					t.Errorf("a request that arrived at %s got a look of %s: %v", arrived, began, err)
				}
			})
			<-time.After(10 * time.Millisecond)
		}
		all.Wait()
		if looks != 2 {
			t.Errorf("%d looks, want the one that began at once and the one after it", looks)
		}
		if len(s.next)+len(s.running) > 0 {
			t.Errorf("left behind: %+v", s)
		}
	})
}

func TestShared_waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShared[int](semaphore.NewWeighted(1))
		cancelled := make(chan string, 2)
		look := func(ctx context.Context) int {
			select {
			case <-time.After(10 * time.Second):
				return 7
			case <-ctx.Done():
				cancelled <- "cancelled"
				return 0
			}
		}
		within := func(d time.Duration, key string) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			_, err := s.do(ctx, key, look)
			return err
		}
		var all sync.WaitGroup
		for _, tt := range []struct {
			name, key string
			d         time.Duration
			err       error
		}{
			{"the first gets what it asks for", "a", time.Minute, nil},
			{"another key waits for room", "b", 5 * time.Second, context.DeadlineExceeded},
			{"who waits longer gets it", "c", time.Minute, nil},
			{"a look goes on while one of two waits", "c", 12 * time.Second, context.DeadlineExceeded},
			{"a look that is too slow", "d", 25 * time.Second, context.DeadlineExceeded},
		} {
			all.Go(func() {
				if err := within(tt.d, tt.key); !errors.Is(err, tt.err) {
					t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		synctest.Wait()
		if got := <-cancelled; got != "cancelled" || len(cancelled) > 0 {
			t.Error("a look for which no request waits goes on, or one for which some do was cancelled")
		}
		if len(s.next)+len(s.running) > 0 || !s.slots.TryAcquire(1) {
			t.Errorf("left behind: %+v", s)
		}
	})
}

// FuzzShared lets requests come and go at random. Each gets a look of its key that began after it had arrived, or the end
// of its patience; of a key one look runs at a time, and of all no more than there is room for.
func FuzzShared(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(a, b))
			type result struct {
				key   string
				began time.Time
			}
			const room = 2
			s := newShared[result](semaphore.NewWeighted(room))
			var mu sync.Mutex
			running, sum := map[string]int{}, 0
			var all sync.WaitGroup
			for range 60 {
				key := fmt.Sprint(random.IntN(4))
				begin, patience, takes := random.IntN(2000), random.IntN(2000), random.IntN(300)
				all.Go(func() {
					<-time.After(time.Duration(begin) * time.Millisecond)
					arrived := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(patience)*time.Millisecond)
					defer cancel()
					got, err := s.do(ctx, key, func(ctx context.Context) result {
						began := time.Now()
						mu.Lock()
						running[key]++
						sum++
						if running[key] > 1 || sum > room {
							t.Errorf("%d looks of %s are running, %d of all", running[key], key, sum)
						}
						mu.Unlock()
						select {
						case <-time.After(time.Duration(takes) * time.Millisecond):
						case <-ctx.Done():
						}
						mu.Lock()
						running[key]--
						sum--
						mu.Unlock()
						return result{key, began}
					})
					if err != nil {
						if !errors.Is(err, context.DeadlineExceeded) || time.Since(arrived) < time.Duration(patience)*time.Millisecond {
							t.Errorf("%v after %s", err, time.Since(arrived))
						}
						return
					}
					if got.key != key || got.began.Before(arrived) {
						t.Errorf("of %s since %s: got %+v", key, arrived, got)
					}
				})
			}
			all.Wait()
			synctest.Wait()
			if len(s.next)+len(s.running) > 0 || !s.slots.TryAcquire(room) {
				t.Errorf("left behind: %+v", s)
			}
		})
	})
}

func TestShared_aLookThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	s := newShared[int](semaphore.NewWeighted(1))
	if _, err := s.do(t.Context(), "a", func(context.Context) int { panic("as no input is known to do") }); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("got %v", err)
	}
	if got, err := s.do(t.Context(), "a", func(context.Context) int { return 7 }); got != 7 || err != nil {
		t.Errorf("the next look shows %d, %v", got, err)
	}
}

// A tenant has all looks of users busy, or has Holdfast ask about many subnamespaces. The others go on.
func TestLooks_ofUsersAndOfHoldfastDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{User: "holdfast"})
	for _, tt := range []struct{ busy, free string }{{"ed", "holdfast"}, {"holdfast", "ed"}} {
		ctx, cancel := context.WithCancel(t.Context())
		var begun, all sync.WaitGroup
		for i := range processLooks {
			begun.Add(1)
			all.Go(func() {
				_, _ = h.looksFor(tt.busy).below.do(ctx, fmt.Sprint(i), func(ctx context.Context) Result {
					begun.Done()
					<-ctx.Done()
					return Result{}
				})
			})
		}
		begun.Wait()
		soon, stop := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := h.looksFor(tt.free).uses.do(soon, "x", func(context.Context) inUse { return inUse{} }); err != nil {
			t.Errorf("%s waits for the looks of %s: %v", tt.free, tt.busy, err)
		}
		stop()
		cancel()
		all.Wait()
	}
}
