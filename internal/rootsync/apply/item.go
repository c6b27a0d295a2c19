// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// outcome is what became of an object for the declaration in force.
type outcome string

const (
	open     outcome = ""         // nothing yet
	done     outcome = "done"     // it is as declared; ready says more
	failed   outcome = "failed"   // it could not be written; it is tried again
	skipped  outcome = "skipped"  // because of another
	conflict outcome = "conflict" // it is another's
	kept     outcome = "kept"     // it is left as it is: it cannot go, or may not be written
	gone     outcome = "gone"     // nothing is left of it that is the sync's
)

// readiness is whether an object that was applied has become what it is to be, or one
// that was deleted has gone.
type readiness string

const (
	pending  readiness = ""
	ready    readiness = "ready"
	broken   readiness = "broken"
	timedOut readiness = "timed out"
)

// item is what the Engine knows of one object.
type item struct {
	id    object.ID
	about knv.Resource

	// declared is nil for what is not declared any more.
	declared *object.Declared
	want     decide.Want
	// inventoried says whether it is in the inventory as it was written last.
	inventoried bool

	// wrote is decide.Facts.Wrote, and answer what the API server answered last. Looked
	// says that this was asked for by a decision and is for the next one.
	wrote    *decide.Wrote
	answer   *live.Seen
	answered time.Time
	looked   bool
	// told counts what the watch has told, and toldAt is where that was at the last write.
	told, toldAt int
	// came counts how often it was told that its namespace has appeared.
	came int

	outcome outcome
	ready   readiness
	// err is what is wrong, for people.
	err *knv.Error
	// since is when it was begun to wait for the object to become ready, going for it to
	// be gone, and unknown for the watch of its kind.
	since, going, unknown time.Time
	// missing is the namespace that the object waits for.
	missing string

	failures int
	until    time.Time // before which it is not tried again
	fight    fight
	// deleted is the object that was asked to go, in the version deletedAt. Watched says
	// that the watch had told of it, so that it will tell when it is gone.
	deleted   types.UID
	deletedAt string
	watched   bool
	// refused is the answer if that was no.
	refused *refusal
	// wanted says that it has to be in the inventory before it is written.
	wanted bool
}

// refusal is a no to the deletion of an object as it was then.
type refusal struct {
	text  string
	code  knv.Code
	of    *live.Seen
	until time.Time
}

// stands says whether nothing has changed that could change the answer.
func (r *refusal) stands(now *live.Seen) bool {
	return now.Labels == r.of.Labels && now.Generation == r.of.Generation
}

func (it *item) isDeclared() bool { return it.declared != nil }

// managed says whether it is declared and to be applied.
func (it *item) managed() bool { return it.declared != nil && !it.want.Disabled }

// settled says whether there is nothing to wait for.
func (it *item) settled() bool {
	return it.outcome != open && (it.outcome != done || it.ready != pending)
}

// reset begins anew, for another declaration.
func (it *item) reset() {
	it.outcome, it.ready, it.err, it.missing = open, pending, nil, ""
	it.since, it.going, it.unknown = time.Time{}, time.Time{}, time.Time{}
	it.failures, it.until, it.refused = 0, time.Time{}, nil
}

// declare takes in what is declared; again says that it was tried before and nothing
// has changed.
func (it *item) declare(d *object.Declared, w decide.Want, again bool) {
	same := it.declared != nil && it.want.Digest == w.Digest && again
	it.declared, it.want, it.about = d, w, knv.Declared(*d)
	if !same || it.outcome == gone || it.outcome == kept {
		it.reset()
	}
}

// undeclare takes in that it is declared no longer.
func (it *item) undeclare() {
	if it.declared != nil {
		it.declared, it.want = nil, decide.Want{}
		it.about.Path = ""
		it.reset()
	}
}

// status is that of kstatus. Where the watch has only the metadata, the kind has no
// status.
func statusOf(seen *live.Seen) status.Status {
	switch {
	case seen == nil:
		return status.NotFoundStatus
	case seen.Status == "":
		return status.CurrentStatus
	}
	return seen.Status
}
