// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

func TestFight(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var f fight
	n := 0
	// somebody changes the object every so often, and it is put back when it may.
	during := func(all, every time.Duration) (corrections int, errs map[string]bool) {
		errs = map[string]bool{}
		for end := now.Add(all); now.Before(end); now = now.Add(every) {
			n++
			f.changed(fmt.Sprint(n), now)
			f.changed(fmt.Sprint(n), now) // it is told twice
			if f.rests(now) == 0 {
				corrections++
				f.corrected(now)
			}
			if err := f.err(now); err != nil {
				errs[err.Error()] = true
			}
		}
		return corrections, errs
	}
	if got, errs := during(10*time.Minute, 20*time.Second); got != 30 || len(errs) > 0 {
		t.Errorf("three times a minute: put back %d times, %v", got, errs)
	}
	got, errs := during(10*time.Minute, time.Second)
	if got > 40 || len(errs) == 0 || len(errs) > 5 {
		t.Errorf("every second: put back %d times, %v", got, errs)
	}
	for range 20 {
		now = now.Add(15 * time.Second)
	}
	if err := f.err(now); err != nil || f.rests(now) > 0 {
		t.Errorf("it is not over: %v", err)
	}
	f.changed("another", now)
	f.corrected(now)
	if f.rests(now) > 0 {
		t.Error("a change long after is put back late")
	}
	var fresh fight
	for i := range 6 {
		fresh.changed(fmt.Sprint(i), now)
	}
	if err := fresh.err(now); err == nil || err.Code != knv.Fight {
		t.Errorf("six at once: %v", err)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{1, 5, 100} {
		for range 50 {
			if got := backoff(failures); got < firstRetry/2 || got > lastRetry {
				t.Errorf("after %d: %v", failures, got)
			}
		}
	}
	if got := backoff(100); got < lastRetry/2 {
		t.Errorf("after 100: %v", got)
	}
}
