// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// sizes are how much is measured on.
type sizes struct {
	// namespaces are in every cluster.
	namespaces int
	// starts of the manager.
	starts int
	// deleteRounds each have that many deletes of a sort.
	deleteRounds, deletes int
	// protections are defined in one cluster each.
	protections []int
	// contents are objects in one namespace each, whose deletion is tried looks
	// times in each of lookRounds.
	contents          []int
	lookRounds, looks int
	// marked are objects that are protected at once, in markRounds.
	marked, markRounds int
	// evictions are asked for one after the other in each of evictionRounds;
	// evictedAtOnce are, at once; reviews are judged before memory is looked at.
	evictions, evictionRounds, evictedAtOnce, reviews int
	// treeChildren are below one root, to which Roles come so many treeTimes in each of treeRounds;
	// treeLarge are in a large tree, and treeFew below a root with many sources.
	treeChildren, treeTimes, treeRounds, treeLarge, treeFew int
	// synced are objects of one RootSync, made in each of syncRounds, of which one changes
	// so often; syncs have ten each, and nothing to write for syncIdle.
	synced, syncRounds, changes, syncs int
	syncIdle                           time.Duration
	// accounts are those of as many objects, made in each of accountRounds.
	accounts, accountRounds int
	// idle is how long nothing may be written.
	idle time.Duration
}

var (
	full = sizes{
		namespaces: 500, starts: 5, deleteRounds: 10, deletes: 300, protections: []int{0, 100, 10000},
		contents: []int{100, 10000}, lookRounds: 4, looks: 15, marked: 10000, markRounds: 3, idle: 10 * time.Second,
		evictions: 200, evictionRounds: 6, evictedAtOnce: 1000, reviews: 10000,
		treeChildren: 100, treeTimes: 3, treeRounds: 9, treeLarge: 2000, treeFew: 500,
		synced: 1000, syncRounds: 5, changes: 5, syncs: 100, syncIdle: time.Minute,
		accounts: 1000, accountRounds: 5,
	}
	little = sizes{
		namespaces: 20, starts: 1, deleteRounds: 2, deletes: 20, protections: []int{0, 10, 200},
		contents: []int{10, 200}, lookRounds: 2, looks: 3, marked: 300, markRounds: 1, idle: 3 * time.Second,
		evictions: 10, evictionRounds: 2, evictedAtOnce: 50, reviews: 200,
		treeChildren: 10, treeTimes: 2, treeRounds: 1, treeLarge: 40, treeFew: 20,
		synced: 40, syncRounds: 1, changes: 1, syncs: 5, syncIdle: 15 * time.Second,
		accounts: 40, accountRounds: 1,
	}
)

// bench makes clusters for measurements and ends them.
type bench struct {
	sizes
	dir      string
	binary   string
	version  string
	begin    time.Time
	subjects []*subject
}

func newBench(small bool) *bench {
	b := &bench{sizes: full, begin: time.Now()}
	if small {
		b.sizes = little
	}
	return b
}

// progress tells whoever waits.
func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %4.0fs  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
}

// prepare makes what all clusters need.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.dir != "" {
		return nil
	}
	if b.dir, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	b.binary, err = manager.Build(ctx, "holdfast-manager", false, os.Stderr)
	return err
}

// installed returns a cluster of its own with Holdfast installed and no manager
// running yet.
func (b *bench) installed(ctx context.Context, managerArgs ...string) (*subject, error) {
	return b.installedOn(ctx, cluster.Options{}, managerArgs...)
}

// installedOn is installed for a cluster with options.
func (b *bench) installedOn(ctx context.Context, o cluster.Options, managerArgs ...string) (*subject, error) {
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	s, err := newSubject(ctx, b, o, managerArgs)
	if s != nil {
		b.subjects = append(b.subjects, s)
	}
	if err != nil {
		return nil, err
	}
	b.version = s.Version
	return s, s.makeNamespaces(ctx, "bench", b.namespaces)
}

// running returns a cluster of its own with Holdfast in force.
func (b *bench) running(ctx context.Context, managerArgs ...string) (*subject, error) {
	s, err := b.installed(ctx, managerArgs...)
	if err != nil {
		return nil, err
	}
	if _, err := s.startManager(ctx); err != nil {
		return nil, err
	}
	return s, s.WaitEnforced(ctx)
}

// close ends all clusters.
func (b *bench) close() error {
	var errs []error
	for _, s := range b.subjects {
		errs = append(errs, s.close())
	}
	b.subjects = nil
	return errors.Join(errs...)
}

// patience bounds the wait for anything.
const patience = 5 * time.Minute

// await waits until something is so.
func await(ctx context.Context, what string, every time.Duration, is func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, every, patience, true, is); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}

// pause lets something go on for a while.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// each calls a function for 0 to n-1, by so many workers.
func each(n, workers int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// turns are the two states that a round measures, without Holdfast and with it, one first and the
// next time the other, so that what drifts with time falls on both.
func turns(round int) []bool {
	first := round%2 == 1
	return []bool{first, !first}
}
