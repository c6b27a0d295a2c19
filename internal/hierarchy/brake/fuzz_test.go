// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package brake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/brake"
)

// FuzzAsk lets anything happen in any order, and keeps a simple book of its own.
// Each step is three bytes: what, which copies, how many.
func FuzzAsk(f *testing.F) {
	f.Add(uint8(25), uint8(2), []byte{0, 0, 9, 4, 0, 0, 0, 0, 9})
	f.Add(uint8(0), uint8(0), []byte{0, 1, 1, 3, 1, 0, 0, 1, 1, 5, 0, 0})
	f.Add(uint8(100), uint8(0), []byte{0, 0, 255})
	f.Add(uint8(10), uint8(5), []byte{0, 0, 3, 6, 200, 0, 0, 3, 3, 1, 0, 9, 2, 0, 9, 0, 0, 12, 4, 0, 0, 5, 0, 0})
	f.Fuzz(func(t *testing.T, percent, minimum uint8, steps []byte) {
		bounds := brake.Bounds{Percent: int(percent) % 101, Minimum: int(minimum)}
		book := &book{t: t, b: brake.New(start, time.Time{}), now: start, bounds: bounds, gone: map[string]time.Time{}, consented: map[string]time.Time{}, held: map[string]bool{}}
		steps = steps[:min(len(steps), 150)]
		for ; len(steps) >= 3; steps = steps[3:] {
			book.step(steps[0]%7, int(steps[1]), int(steps[2]))
		}
	})
}

// book is what happened, for whoever does not trust the Brake.
type book struct {
	t         *testing.T
	b         *brake.Brake
	now       time.Time
	bounds    brake.Bounds
	gone      map[string]time.Time // without an explanation or a consent
	consented map[string]time.Time
	held      map[string]bool
	words     []string
}

func (k *book) step(what byte, first, n int) {
	switch what {
	case 0, 1, 2:
		k.ask(brake.Cause(what), first, n)
	case 3:
		name := fmt.Sprintf("secrets team-%d/s", first)
		k.b.Stay(name)
		delete(k.held, name)
		delete(k.consented, name)
	case 4:
		h, halted := k.b.Halted()
		if halted != (len(k.held) > 0) || halted && h.Held != len(k.held) {
			k.t.Fatalf("%+v is halted, and %d wait", h, len(k.held))
		}
		if !halted {
			return
		}
		if !k.b.Consent(k.now, h.Token) {
			k.t.Fatalf("%s does not count", h.Token)
		}
		k.words = append(k.words, h.Token)
		for name := range k.consented {
			if k.now.Sub(k.consented[name]) < brake.Window {
				k.consented[name] = k.now // one consent prolongs the others
			}
		}
		for name := range k.held {
			k.consented[name] = k.now
		}
		k.held = map[string]bool{}
		k.now = k.now.Add(time.Second) // nobody is asked and answers twice in a second
	case 5:
		for _, word := range append(k.words, "", "x") {
			if k.b.Consent(k.now, word) {
				k.t.Fatalf("%q counts again", word)
			}
		}
	case 6:
		k.now = k.now.Add(time.Duration(first) * brake.Window / 100)
	}
}

func (k *book) ask(cause brake.Cause, first, n int) {
	removals := group(cause, first, n)
	v := k.b.Ask(k.now, k.bounds, 200, removals...)
	if len(v.Go)+len(v.Halt) != n {
		k.t.Fatalf("%d go and %d halt of %d", len(v.Go), len(v.Halt), n)
	}
	if cause != brake.Unexplained && len(v.Halt) > 0 {
		k.t.Fatalf("%+v halts", v.Halt)
	}
	open := 0
	for _, r := range v.Go {
		if k.held[r.Copy] && cause == brake.Unexplained && k.bounds.Percent < 100 {
			k.t.Fatalf("%s goes, and it waited", r.Copy)
		}
		delete(k.held, r.Copy)
		at, ok := k.consented[r.Copy]
		last, counted := k.gone[r.Copy]
		if cause == brake.Unexplained && (!ok || k.now.Sub(at) >= brake.Window) && (!counted || k.now.Sub(last) >= brake.Window) {
			open++
			k.gone[r.Copy] = k.now
		}
	}
	if open > 0 && len(v.Halt) > 0 {
		k.t.Fatalf("%d of one group go, and %d do not", open, len(v.Halt))
	}
	for _, r := range v.Halt {
		if at, ok := k.consented[r.Copy]; ok && k.now.Sub(at) < brake.Window {
			k.t.Fatalf("%s halts, and somebody consented", r.Copy)
		}
		k.held[r.Copy] = true
	}
	counts := 0
	for _, at := range k.gone {
		if k.now.Sub(at) < brake.Window {
			counts++
		}
	}
	// Of 200 copies, or of what is more than that by now, and of those that went.
	if open > 0 && counts > k.bounds.Minimum && counts*100 > k.bounds.Percent*(max(200, n+len(k.held))+counts) {
		k.t.Fatalf("%d have gone, with %+v", counts, k.bounds)
	}
}
