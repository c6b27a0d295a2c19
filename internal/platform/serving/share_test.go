// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

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

	"github.com/google/go-cmp/cmp"
)

// book has a share, and remembers by name who has holds and whose were cut.
type book struct {
	*share
	t     *testing.T
	holds map[string]*hold
	cuts  []string
}

func newBook(t *testing.T, capacity int64) *book {
	return &book{share: newShare(capacity, time.Second), t: t, holds: map[string]*hold{}}
}

// take is for "client/name". What is cut is released at once.
func (b *book) take(name string, n int64, patience time.Duration) error {
	client, _, _ := strings.Cut(name, "/")
	var h *hold
	var mu sync.Mutex
	got, err := b.share.take(b.t.Context(), client, n, patience, func() {
		mu.Lock()
		defer mu.Unlock()
		b.cuts = append(b.cuts, name)
		h.release()
	})
	mu.Lock()
	defer mu.Unlock()
	if h = got; err == nil {
		b.holds[name] = h
	}
	return err
}

func (b *book) full(name string, n int64) {
	b.t.Helper()
	if err := b.take(name, n, 0); !errors.Is(err, errFull) {
		b.t.Errorf("%s takes %d: got %v, want %v", name, n, err, errFull)
	}
}

func (b *book) gets(name string, n int64) {
	b.t.Helper()
	if err := b.take(name, n, 0); err != nil {
		b.t.Errorf("%s takes %d: %v", name, n, err)
	}
}

func (b *book) cut(names ...string) {
	b.t.Helper()
	if diff := cmp.Diff(names, b.cuts); diff != "" {
		b.t.Errorf("what was cut (-want +got):\n%s", diff)
	}
	b.cuts = nil
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		does func(*book)
	}{
		{"a client alone has all of it", func(b *book) {
			b.gets("a/1", 6)
			b.gets("a/2", 4)
			b.full("a/3", 1)
			b.cut()
		}},
		{"a client that holds less takes the longest wait from the one that holds most", func(b *book) {
			b.gets("a/1", 3)
			<-time.After(time.Millisecond)
			b.gets("b/1", 4)
			<-time.After(time.Millisecond)
			b.gets("b/2", 3)
			b.gets("c/1", 1)
			b.cut("b/1")
		}},
		{"as many as it needs", func(b *book) {
			for i := range 10 {
				b.gets(fmt.Sprint("a/", i), 1)
				<-time.After(time.Millisecond)
			}
			b.gets("b/1", 3)
			b.cut("a/0", "a/1", "a/2")
		}},
		{"a client that holds as much takes nothing", func(b *book) {
			b.gets("a/1", 5)
			b.gets("b/1", 5)
			b.full("c/1", 5)
			b.full("a/2", 1)
			b.cut()
		}},
		{"unless the other has been waiting for longer than the grace", func(b *book) {
			b.gets("a/1", 10)
			b.full("b/1", 10)
			<-time.After(time.Second)
			b.gets("b/1", 10)
			b.cut("a/1")
		}},
		{"a client takes its own longest wait after the grace", func(b *book) {
			b.gets("a/1", 5)
			<-time.After(time.Second)
			b.gets("a/2", 5)
			b.gets("a/3", 1)
			b.cut("a/1")
		}},
		{"who holds less is never cut for who holds more, however long it waits", func(b *book) {
			b.gets("a/1", 1)
			<-time.After(time.Hour)
			b.gets("b/1", 9)
			b.full("b/2", 1)
			b.cut()
		}},
		{"what is worked on is not cut", func(b *book) {
			b.gets("a/1", 10)
			b.holds["a/1"].busy()
			<-time.After(time.Hour)
			b.full("b/1", 1)
			b.holds["a/1"].waits()
			b.gets("b/1", 1)
			b.cut("a/1")
		}},
		{"unless its client has more than the most that one may have", func(b *book) {
			b.most = 7
			for i := range 10 {
				b.gets(fmt.Sprint("a/", i), 1)
				b.holds[fmt.Sprint("a/", i)].busy()
				<-time.After(time.Millisecond)
			}
			b.full("a/10", 1)
			b.gets("b/1", 3)
			b.full("b/2", 1)
			b.cut("a/0", "a/1", "a/2")
		}},
		{"nothing is cut if that is not enough", func(b *book) {
			b.gets("a/1", 2)
			b.gets("a/2", 8)
			b.holds["a/2"].busy()
			b.full("b/1", 3)
			b.cut()
			b.gets("b/1", 2)
			b.cut("a/1")
		}},
		{"what is released is there again, once", func(b *book) {
			b.gets("a/1", 10)
			b.holds["a/1"].release()
			b.holds["a/1"].release()
			b.gets("b/1", 10)
			b.holds["b/1"].busy()
			b.full("a/2", 1)
		}},
		{"what is more than all of it is never there", func(b *book) {
			b.full("a/1", 11)
			b.gets("a/1", 10)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tt.does(newBook(t, 10)) })
		})
	}
}

// Of those that wait the client that holds least is the first.
func TestShare_whoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t, 10)
		for name, n := range map[string]int64{"a/0": 1, "a/1": 5, "b/1": 4} {
			b.gets(name, n)
			b.holds[name].busy()
		}
		var mu sync.Mutex
		var order []string
		for _, name := range []string{"a/2", "a/3", "b/2", "c/1"} {
			go func() {
				client, _, _ := strings.Cut(name, "/")
				h, err := b.share.take(t.Context(), client, 5, time.Minute, func() {})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				h.busy()
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				<-time.After(time.Second)
				h.release()
			}()
			synctest.Wait()
		}
		b.holds["a/1"].release()
		<-time.After(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]string{"c/1", "a/2", "a/3", "b/2"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestShare_patienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t, 10)
		b.gets("a/1", 10)
		b.holds["a/1"].busy()
		start := time.Now()
		if err := b.take("b/1", 1, 2*time.Second); !errors.Is(err, errFull) || time.Since(start) != 2*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.share.take(ctx, "b", 1, time.Hour, func() {}); !errors.Is(err, errFull) {
			t.Errorf("of a request that has ended: %v", err)
		}
		b.holds["a/1"].release()
		if len(b.queue)+len(b.clients)+int(b.used) > 0 {
			t.Errorf("left behind: %+v", b.share)
		}
	})
}

// FuzzShare lets clients take and release at random: never more is held than there is, and in the end nothing is.
func FuzzShare(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(a, b))
			s := newShare(20, time.Second)
			var mu sync.Mutex
			var held int64
			var all sync.WaitGroup
			for range 40 {
				client, n := fmt.Sprint(random.IntN(4)), random.Int64N(12)+1
				begin, patience, receives, works := random.IntN(5000), random.IntN(3000), random.IntN(3000), random.IntN(3000)
				all.Go(func() {
					<-time.After(time.Duration(begin) * time.Millisecond)
					cut := make(chan struct{})
					h, err := s.take(t.Context(), client, n, time.Duration(patience)*time.Millisecond, func() { close(cut) })
					if err != nil {
						return
					}
					mu.Lock()
					if held += n; held > 20 {
						t.Errorf("%d are held of 20", held)
					}
					mu.Unlock()
					select {
					case <-time.After(time.Duration(receives) * time.Millisecond):
						if h.busy() {
							<-time.After(time.Duration(works) * time.Millisecond)
						}
					case <-cut:
					}
					mu.Lock()
					held -= n
					mu.Unlock()
					h.release()
				})
			}
			all.Wait()
			if s.used != 0 || len(s.holds)+len(s.clients)+len(s.queue) > 0 {
				t.Errorf("left behind: %+v", s)
			}
		})
	})
}
