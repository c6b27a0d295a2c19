// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// workers bound how many questions are under way.
	workers = 4
	// settles is how long the authorizer may take for a new binding, which it learns of by a watch. An answer is asked for
	// again after this, and after twice as long each time.
	settles = time.Second
	// doubts is how often an answer is asked for again although nothing is contested.
	doubts = 4
	// surfaced is how often in a row the API server must not answer before people are told.
	surfaced = 3
	// firstRetry and lastRetry bound the pause after no answer.
	firstRetry, lastRetry = time.Second, time.Minute
)

// Question is whether the account of a RootSync may apply an object, or every object of a resource in a namespace.
type Question struct {
	Sync     object.Sync
	Resource schema.GroupResource
	// Namespace is empty for what is cluster-scoped, and Name for every object.
	Namespace, Name string
}

// Answer is what the account may do. An apply is a patch, and a create as well where the object does not exist.
type Answer struct{ Patch, Create bool }

// Use is how much depends on an answer.
type Use int

const (
	// Unused is the answer on which no decision depends any more.
	Unused Use = iota
	// Used is the answer on which a decision may depend that something else causes.
	Used
	// Contested is the answer because of which an object is not written. It is asked for from time to time, since no event
	// tells of a right that comes or goes.
	Contested
)

// Options are what Rights are made of. The functions must not block, but for Ask.
type Options struct {
	// Ask asks the API server.
	Ask func(context.Context, Question) (Answer, error)
	// Use tells how much depends on the answer to a question now; granted is the answer.
	Use func(q Question, granted bool) Use
	// Changed is called after another answer than before.
	Changed func(Question)
	Clock   clock.WithTicker
	Pauses  timing.Pauses
}

// Rights keeps the answers of the API server. It is safe for concurrent use.
type Rights struct {
	o     Options
	queue workqueue.TypedRateLimitingInterface[Question]

	mu      sync.Mutex
	entries map[Question]*entry
	// reach is where the roles of each RootSync hold, and bound is when its bindings were written last.
	reach map[object.Sync]object.Reach
	bound map[object.Sync]time.Time
	// unanswered counts the questions that were not answered often enough to say so, and err is why the last one was not.
	unanswered int
	err        error
}

type entry struct {
	Answer
	known bool
	// at is when it was asked for last, and asked how often since it was last in doubt.
	at    time.Time
	asked int
	// failures counts the tries in a row without an answer.
	failures int
	// wanted reports that a decision would like a newer answer.
	wanted bool
}

func (e *entry) right(exists bool) object.Right {
	switch {
	case !e.known:
		return object.Unknown
	case e.Patch && (exists || e.Create):
		return object.Granted
	}
	return object.Missing
}

// New makes Rights that know nothing.
func New(o Options) *Rights {
	return &Rights{
		o: o, entries: map[Question]*entry{}, reach: map[object.Sync]object.Reach{}, bound: map[object.Sync]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[Question](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[Question]{Name: "rootsync.rights", Clock: o.Clock}),
	}
}

// May returns the last answer of the API server, and has it asked if there is none or it is old. It does not block. What the
// roles of the RootSync do not reach it may not write, whatever the answer would be: the admin of a namespace can grant its
// account anything there, and decide contests that way.
func (r *Rights) May(q Question, exists bool) object.Right {
	r.mu.Lock()
	defer r.mu.Unlock()
	if right, settled := r.settled(q); settled {
		return right
	}
	every := q
	every.Name = ""
	for _, one := range []Question{every, q} { // a role may have names
		if right := r.know(one).right(exists); right != object.Missing {
			return right
		}
	}
	return object.Missing
}

// settled returns a right that the API server need not be asked for.
func (r *Rights) settled(q Question) (right object.Right, settled bool) {
	reach, known := r.reach[q.Sync]
	switch {
	case !known:
		return object.Unknown, false
	case reach.Admin:
		return object.Granted, true
	case !reach.Covers(object.RightNamespace(q.Resource, q.Namespace, q.Name)):
		return object.Missing, true
	}
	return object.Unknown, false
}

func (r *Rights) know(q Question) *entry {
	e, now := r.entries[q], r.o.Clock.Now()
	switch {
	case e == nil:
		e = &entry{}
		r.entries[q] = e
		r.queue.AddAfter(q, r.bound[q.Sync].Add(settles).Sub(now))
	case e.known && now.Sub(e.at) >= r.o.Pauses.RefusedAgain:
		e.wanted = true
		r.queue.Add(q)
	}
	return e
}

// SetReach says where the roles of a RootSync hold, and reports whether that was not known.
func (r *Rights) SetReach(who object.Sync, reach object.Reach) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.reach[who]
	r.reach[who] = reach
	return !known || !before.Equal(reach)
}

// Bound puts the answers for a RootSync in doubt: its bindings were written. Each answer stays until there is another.
func (r *Rights) Bound(who object.Sync) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bound[who] = r.o.Clock.Now()
	for q, e := range r.entries {
		if q.Sync == who {
			r.doubt(q, e)
		}
	}
}

// Refused puts the right to an object in doubt, as an apply was forbidden.
func (r *Rights) Refused(q Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	every := q
	every.Name = ""
	for _, one := range []Question{every, q} {
		if e := r.entries[one]; e != nil && e.Patch {
			r.doubt(one, e)
		}
	}
}

func (r *Rights) doubt(q Question, e *entry) {
	e.asked = 0
	r.queue.AddAfter(q, settles)
}

// Forget forgets a RootSync that is gone.
func (r *Rights) Forget(who object.Sync) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reach, who)
	delete(r.bound, who)
	for q, e := range r.entries {
		if q.Sync == who {
			r.drop(q, e)
		}
	}
}

func (r *Rights) drop(q Question, e *entry) {
	r.answered(q, e)
	delete(r.entries, q)
}

// answered ends the failures of a question.
func (r *Rights) answered(q Question, e *entry) {
	if e.failures >= surfaced {
		r.unanswered--
	}
	e.failures = 0
	r.queue.Forget(q)
}

// Unanswered returns why the API server does not answer a question; nil if it answers all, or has not failed to often enough.
func (r *Rights) Unanswered() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unanswered == 0 {
		return nil
	}
	return fmt.Errorf("it is not known which RootSync may write it: %w", r.err)
}

// Run asks until the context ends.
func (r *Rights) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for range workers {
		all.Go(func() {
			for {
				q, ended := r.queue.Get()
				if ended {
					return
				}
				r.look(ctx, q)
				r.queue.Done(q)
			}
		})
	}
}

// look asks a question if it is due.
func (r *Rights) look(ctx context.Context, q Question) {
	r.mu.Lock()
	e := r.entries[q]
	granted := e != nil && e.Patch
	r.mu.Unlock()
	use := r.o.Use(q, granted)
	if !r.due(q, use) {
		return
	}
	answer, err := r.o.Ask(ctx, q)
	if ctx.Err() != nil {
		return
	}
	if r.take(q, use, answer, err) {
		r.o.Changed(q)
	}
}

// due reports whether a question is to be asked now. If not, it is looked at again later.
func (r *Rights) due(q Question, use Use) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[q]
	_, settled := r.settled(q)
	switch {
	case e == nil:
		return false
	case !e.known || e.wanted: // somebody waits for it
		return true
	case use == Unused || settled:
		r.drop(q, e)
		return false
	}
	if rest := e.at.Add(r.pause(e, use)).Sub(r.o.Clock.Now()); rest > 0 {
		r.queue.AddAfter(q, rest)
		return false
	}
	if use == Contested || e.asked < doubts {
		return true
	}
	r.queue.AddAfter(q, r.o.Pauses.RefusedAgain) // nothing depends on it now
	return false
}

// pause is how long an answer stands before it is looked at again.
func (r *Rights) pause(e *entry, use Use) time.Duration {
	longest := r.o.Pauses.RefusedAgain
	if e.asked >= doubts && use != Contested {
		return longest
	}
	pause := settles
	for range e.asked {
		if pause *= 2; pause >= longest {
			return longest
		}
	}
	return pause
}

// take takes in an answer, and reports whether others have to hear of it.
func (r *Rights) take(q Question, use Use, answer Answer, err error) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[q]
	if e == nil {
		return false // it was forgotten meanwhile
	}
	e.at, e.wanted = r.o.Clock.Now(), false
	if err != nil {
		r.err = err
		e.failures++
		if e.failures == surfaced {
			r.unanswered++
		}
		r.queue.AddRateLimited(q)
		return !e.known && e.failures >= surfaced
	}
	r.answered(q, e)
	changed = !e.known || e.Answer != answer
	e.Answer, e.known = answer, true
	e.asked++
	r.queue.AddAfter(q, r.pause(e, use))
	return changed
}
