// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"math"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

const (
	// fightRate is how many changes a minute make a fight.
	fightRate = 5
	// cool is the time in which what was counted fades to about a third, so that a steady
	// rate a minute counts as itself.
	cool = time.Minute
	// firstPause and lastPause bound the pause before a change is put back in a fight.
	firstPause, lastPause = time.Second, time.Minute
)

// fight counts how often others change an object.
type fight struct {
	heat float64
	at   time.Time
	// seen tells the last change that was counted from the next.
	seen string
	// until is when the next one may be put back, and pause what follows on that.
	until time.Time
	pause time.Duration
	said  int
}

// changed counts a change.
func (f *fight) changed(seen string, now time.Time) {
	if f.seen == seen {
		return
	}
	f.heat, f.at, f.seen = f.now(now)+1, now, seen
}

func (f *fight) now(now time.Time) float64 {
	return f.heat * math.Exp(-float64(now.Sub(f.at))/float64(cool))
}

// rests is how long a change is to be left before it is put back.
func (f *fight) rests(now time.Time) time.Duration { return max(0, f.until.Sub(now)) }

// corrected counts that a change was put back.
func (f *fight) corrected(now time.Time) {
	switch heat := f.now(now); {
	case heat < 1:
		f.pause = 0
		return
	case heat < fightRate:
		return
	}
	f.pause = min(max(firstPause, 2*f.pause), lastPause)
	f.until = now.Add(f.pause)
}

// err reports a fight; nil if there is none. What it says stays while the rate is about
// the same.
func (f *fight) err(now time.Time) *knv.Error {
	rate := int(math.Round(f.now(now)))
	if rate < fightRate && f.rests(now) == 0 {
		f.said = 0
		return nil
	}
	if f.said == 0 || rate > 2*f.said {
		f.said = max(rate, fightRate)
	}
	return knv.New(knv.Fight, "detected excessive object updates, approximately %d times per minute. "+
		"This may indicate Holdfast is fighting with another controller over the object.", f.said)
}
