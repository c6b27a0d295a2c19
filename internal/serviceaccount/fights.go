// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

const (
	// most is how often a key is set to the same value within a while; then somebody else
	// always sets it to another, and it is given up for longer.
	most   = 3
	within = 10 * time.Minute
	giveUp = time.Hour
	// mostWhole is how often within that while an account is made, deleted or taken over:
	// people may do that too, when they try something out.
	mostWhole = 10
)

// whole stands for the whole account among keys.
var whole = plan.Key{Field: plan.Other, Name: "that the account is there, and whose its fields are"}

// attempts are the changes by which a write counts: those of keys, or the write itself
// where it is about the whole account.
func attempts(v plan.Verdict) []plan.Change {
	switch v.Action.Do {
	case plan.Create, plan.Delete, plan.TakeOver:
		return []plan.Change{{Key: whole, Kind: plan.Changed, To: string(v.Action.Do)}}
	default:
		return v.Report.Changes
	}
}

func limit(c plan.Change) int {
	if c.Key == whole {
		return mostWhole
	}
	return most
}

// fights remembers what was written, so that Holdfast does not set a key for ever
// that somebody else, or a webhook on the way, always sets to something else.
type fights struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	accounts map[types.NamespacedName]*disputed
	// swept is when what was long ago was forgotten last: many accounts can be written at
	// once, and each time is too often.
	swept time.Time
}

// disputed is an account that was written.
type disputed struct {
	// uid is which of the accounts of its name it is; empty while there is none.
	uid  types.UID
	keys map[plan.Key]*fight
}

// meet takes in that there is an account of a UID now, or none. Nobody has set anything on one
// that was made a moment ago: what was set on the one before it counts no more, but for that it
// is made again and again.
func (d *disputed) meet(uid types.UID) {
	if uid == "" || uid == d.uid {
		return
	}
	if d.uid != "" {
		maps.DeleteFunc(d.keys, func(k plan.Key, _ *fight) bool { return k != whole })
	}
	d.uid = uid
}

// fight is about one key and the value that it was set to; it may also be taken away.
type fight struct {
	to      string
	removed bool
	writes  []time.Time
	until   time.Time
}

func newFights(c clock.PassiveClock) *fights {
	return &fights{clock: c, accounts: map[types.NamespacedName]*disputed{}}
}

// writes says whether a change is one that is written, and not left alone.
func writes(c plan.Change) bool {
	return c.Kind == plan.Added || c.Kind == plan.Changed || c.Kind == plan.Removed
}

func (f *fight) about(c plan.Change) bool {
	return f != nil && f.removed == (c.Kind == plan.Removed) && f.to == c.To
}

// wrote counts what was written to an account, of which the UID is empty if there is none, and
// returns the keys that are given up now.
func (f *fights) wrote(account types.NamespacedName, uid types.UID, changes []plan.Change) []plan.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	f.expire(now)
	var out []plan.Key
	for _, c := range changes {
		if !writes(c) {
			continue
		}
		d := f.accounts[account]
		if d == nil {
			d = &disputed{keys: map[plan.Key]*fight{}}
			f.accounts[account] = d
		}
		d.meet(uid)
		if !d.keys[c.Key].about(c) {
			d.keys[c.Key] = &fight{to: c.To, removed: c.Kind == plan.Removed}
		}
		k := d.keys[c.Key]
		if k.writes = append(k.writes, now); len(k.writes) >= limit(c) && k.until.IsZero() {
			k.until = now.Add(giveUp)
			out = append(out, c.Key)
		}
	}
	return out
}

// rests is how long a write about a whole account is left, because somebody always
// undoes it.
func (f *fights) rests(account types.NamespacedName, uid types.UID, v plan.Verdict) time.Duration {
	changes := attempts(v)
	if len(changes) != 1 || changes[0].Key != whole {
		return 0
	}
	_, left := f.givenUp(account, uid, changes)
	return left
}

// expire forgets what was long ago.
func (f *fights) expire(now time.Time) {
	if now.Sub(f.swept) < time.Minute {
		return
	}
	f.swept = now
	for account, d := range f.accounts {
		for key, k := range d.keys {
			for len(k.writes) > 0 && now.Sub(k.writes[0]) > within {
				k.writes = k.writes[1:]
			}
			if len(k.writes) == 0 && !now.Before(k.until) {
				delete(d.keys, key)
			}
		}
		if len(d.keys) == 0 {
			delete(f.accounts, account)
		}
	}
}

// givenUp are the keys among some changes that are left alone, and until when the
// first of them is. A change to another value is another matter.
func (f *fights) givenUp(account types.NamespacedName, uid types.UID, changes []plan.Change) (keys sets.Set[plan.Key], left time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys = sets.New[plan.Key]()
	d := f.accounts[account]
	if d == nil {
		return keys, 0
	}
	d.meet(uid)
	now := f.clock.Now()
	for _, c := range changes {
		k := d.keys[c.Key]
		if !writes(c) || !k.about(c) || !now.Before(k.until) {
			continue
		}
		keys.Insert(c.Key)
		if l := k.until.Sub(now); left == 0 || l < left {
			left = l
		}
	}
	return keys, left
}
