// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package brake

import (
	"maps"
	"time"
)

// Window is the while in which removals count together.
const Window = 10 * time.Minute

// Cause is why a copy is to go.
type Cause int

const (
	// Unexplained is every cause but those below.
	Unexplained Cause = iota
	// SourceDeleted says that there was an event of the deletion of what it was copied
	// from, or of a change that takes it out. That it is missing from a list is none.
	SourceDeleted
	// KindRemoved says that the HNCConfiguration does not have the kind copied any more.
	KindRemoved
	// Unsafe means that the copy grants rights that its source does not: a RoleBinding whose Role is missing or another one.
	// To keep it would do harm, and its source stays: it is copied again when the Role is.
	Unsafe
)

// Removal is a copy that is to go.
type Removal struct {
	// Copy is any name that is its own, and that people understand.
	Copy  string
	Cause Cause
}

// Bounds are how many copies may go in a Window without an explanation: as many as
// one of the two allows.
type Bounds struct {
	// Percent of all copies.
	Percent int
	// Minimum is how many may go in any case.
	Minimum int
}

// allow says whether so many may go of all that there are and were.
func (b Bounds) allow(going, all int) bool {
	return going <= b.Minimum || going*100 <= b.Percent*all
}

// Verdict says what goes and what stays for now.
type Verdict struct{ Go, Halt []Removal }

// Brake remembers what went and what is held. It is for one goroutine.
type Brake struct {
	// gone are the copies that were let go without an explanation, and order is when.
	gone  map[string]time.Time
	order []departure
	// held are those that wait, and incident is what people are asked about.
	held     map[string]bool
	incident incident
	// released may go until the time is over.
	released map[string]bool
	until    time.Time
	// resumed is the beginning of the incident of an earlier process, until resuming.
	// What that one held cannot be told from what is new, so nothing goes till then.
	resumed, resuming time.Time
}

type departure struct {
	name string
	at   time.Time
}

// New makes a Brake. Since is when the incident began that an earlier process has
// asked people about, or the zero time: then the same copies get the same word.
func New(now, since time.Time) *Brake {
	return &Brake{
		gone: map[string]time.Time{}, held: map[string]bool{}, released: map[string]bool{}, resumed: since, resuming: now.Add(Window),
	}
}

// Ask says whether copies may go that would go together, out of those that there
// are now, these included. What needs no explanation goes; of the others all go or
// none. What is halted waits for consent or an explanation, however long that takes:
// it does not go because what went before does not count any more. Asking twice
// counts once, and what was let go may be tried again.
func (b *Brake) Ask(now time.Time, bounds Bounds, copies int, group ...Removal) Verdict {
	b.forget(now)
	var v Verdict
	var open []Removal
	waits := !b.resumed.IsZero()
	for _, r := range group {
		if bounds.Percent >= 100 || b.free(r) {
			delete(b.held, r.Copy)
			v.Go = append(v.Go, r)
			continue
		}
		waits = waits || b.held[r.Copy]
		open = append(open, r)
	}
	waiting := b.waiting(open)
	if !waits && bounds.allow(len(b.gone)+waiting, len(b.gone)+max(copies, waiting)) {
		for _, r := range open {
			b.depart(r.Copy, now)
		}
		v.Go = append(v.Go, open...)
	} else {
		b.hold(open, copies, now)
		v.Halt = open
	}
	b.end()
	return v
}

// free says whether a removal needs no room within the bounds.
func (b *Brake) free(r Removal) bool {
	_, gone := b.gone[r.Copy]
	return r.Cause != Unexplained || gone || b.released[r.Copy]
}

// waiting is how many would wait with these.
func (b *Brake) waiting(open []Removal) int {
	more := map[string]bool{}
	for _, r := range open {
		if !b.held[r.Copy] {
			more[r.Copy] = true
		}
	}
	return len(b.held) + len(more)
}

func (b *Brake) depart(name string, now time.Time) {
	delete(b.held, name)
	if _, gone := b.gone[name]; gone {
		return
	}
	b.gone[name] = now
	b.order = append(b.order, departure{name, now})
}

// forget what is longer ago than the Window.
func (b *Brake) forget(now time.Time) {
	for len(b.order) > 0 && now.Sub(b.order[0].at) >= Window {
		delete(b.gone, b.order[0].name)
		b.order = b.order[1:]
	}
	if len(b.released) > 0 && !now.Before(b.until) {
		b.released = map[string]bool{}
	}
	if !now.Before(b.resuming) {
		b.resumed = time.Time{}
	}
}

func (b *Brake) hold(open []Removal, copies int, now time.Time) {
	if len(b.held) == 0 && len(open) > 0 {
		b.incident = newIncident(now, b.resumed)
	}
	for _, r := range open {
		b.held[r.Copy] = true
		b.incident.add(r.Copy, copies)
	}
}

// Stay says that a copy is not to go after all, because what it is copied from is
// there, or that it is gone for good. It is no harm to say so of any copy. Waited says
// whether it was held.
func (b *Brake) Stay(name string) (waited bool) {
	waited = b.held[name]
	delete(b.held, name)
	delete(b.released, name)
	b.end()
	return waited
}

// Again forgets what waits: whoever asks asks for all of it again. The incident goes
// on, as that of an earlier process would.
func (b *Brake) Again(now time.Time) {
	if len(b.held) == 0 {
		return
	}
	b.resumed, b.resuming = b.incident.since, now.Add(Window)
	b.held = map[string]bool{}
	b.end()
}

// end the incident when nothing waits any more.
func (b *Brake) end() {
	if len(b.held) == 0 {
		b.incident = incident{}
	}
}

// Consent lets go what waits, if the word is the one that stands for it, and says
// whether it was. It holds for a Window. What comes to wait later needs another one.
func (b *Brake) Consent(now time.Time, word string) bool {
	if len(b.held) == 0 || word == "" || word != b.incident.token() {
		return false
	}
	b.forget(now)
	maps.Copy(b.released, b.held) // to those that an earlier consent still lets go
	b.until = now.Add(Window)
	b.held = map[string]bool{}
	b.resumed = time.Time{}
	b.end()
	return true
}

// Halted says what waits, for people; false if nothing does.
func (b *Brake) Halted() (Halt, bool) {
	if len(b.held) == 0 {
		return Halt{}, false
	}
	return Halt{
		Token: b.incident.token(), Held: len(b.held), Copies: b.incident.copies, Gone: len(b.gone),
		Since: b.incident.since, Examples: b.incident.examples,
	}, true
}
