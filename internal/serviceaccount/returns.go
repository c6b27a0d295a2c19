// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// returns remembers from whom accounts were taken over. A manager whose keys were
// Holdfast's is in managedFields again only if it has written again: so it runs still,
// whatever its template says, and is yielded to for a while.
type returns struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	accounts map[types.NamespacedName]map[string]*former
	swept    time.Time
}

// former is one from whom an account was taken over.
type former struct {
	keys sets.Set[plan.Key]
	at   time.Time
	// until is how long it counts as one that runs.
	until time.Time
}

func newReturns(c clock.PassiveClock) *returns {
	return &returns{clock: c, accounts: map[types.NamespacedName]map[string]*former{}}
}

// took remembers what was taken over from whom.
func (r *returns) took(account types.NamespacedName, from map[string]sets.Set[plan.Key]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	r.expire(now)
	for manager, keys := range from {
		if r.accounts[account] == nil {
			r.accounts[account] = map[string]*former{}
		}
		f := r.accounts[account][manager]
		if f == nil {
			f = &former{keys: sets.New[plan.Key]()}
			r.accounts[account][manager] = f
		}
		f.keys, f.at = f.keys.Union(keys), now
	}
}

// again are those among some managers who have keys again that were taken from them a
// while ago. They count as ones that run from now on.
func (r *returns) again(account types.NamespacedName, from map[string]sets.Set[plan.Key]) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	var out []string
	for manager, keys := range from {
		f := r.accounts[account][manager]
		if f == nil || now.Sub(f.at) > giveUp || f.keys.Intersection(keys).Len() == 0 {
			continue
		}
		f.until = now.Add(giveUp)
		out = append(out, manager)
	}
	slices.Sort(out)
	return out
}

// running are the managers that count as ones that run, and until when the first of
// them does.
func (r *returns) running(account types.NamespacedName) (managers []string, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for manager, f := range r.accounts[account] {
		if l := f.until.Sub(now); l > 0 {
			managers = append(managers, manager)
			left = sooner(left, l)
		}
	}
	return managers, left
}

// expire forgets what was long ago.
func (r *returns) expire(now time.Time) {
	if now.Sub(r.swept) < time.Minute {
		return
	}
	r.swept = now
	for account, managers := range r.accounts {
		maps.DeleteFunc(managers, func(_ string, f *former) bool { return now.Sub(f.at) > giveUp && !now.Before(f.until) })
		if len(managers) == 0 {
			delete(r.accounts, account)
		}
	}
}

// sooner is the shorter of two durations, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
