// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Step is one thing that Next did, for the log.
type Step struct {
	// Action is what was done, such as "issue serving certificate".
	Action string
	// Reason is why, such as "two thirds of its validity have passed".
	Reason string
}

const (
	actionIssueServing   = "issue serving certificate"
	actionIssueAuthority = "issue authority"
	actionAnnounce       = "publish next authority"
	actionPromote        = "sign with next authority"
	actionWithdraw       = "withdraw authority"

	reasonAge  = "two thirds of its validity have passed"
	reasonNone = "there is none"
)

// Next says what the state must become at a time, with the steps that lead
// there, none if it may stay as it is, and when to ask again.
//
// The serving certificate is issued anew when there is none, when it is not
// valid at this time, lacks a host name, was not signed by the authority in
// force, or has lived two thirds of its validity. If only a name is missing, the
// names that it has are kept until it is next renewed: replicas that want
// different names, as during an upgrade, agree on all of them instead of
// replacing each other's certificate without end.
//
// The authority is replaced in stages. At two thirds of its validity the next
// one is made and trusted. Once that has been so for want.Overlap (or shortly
// before the authority ends, if that is sooner, as can be after a change of the
// settings) the next one signs. After another overlap, or when it expires, the
// old one is no longer trusted. Only if the authority cannot sign at all, because
// it is not valid or its key is lost, another one takes its place at once.
//
// Next changes nothing that it is given, and asked again with its own answer at
// the same time it takes no step. On an error, which is one of want or of the
// source of randomness, the state is returned as it was.
func Next(state State, now time.Time, want Want) (State, []Step, time.Time, error) {
	if err := want.validate(); err != nil {
		return state, nil, time.Time{}, fmt.Errorf("plan certificates: %w", err)
	}
	t := turn{state: state, now: now, want: want}
	t.state.Retired = slices.Clone(state.Retired)
	if err := t.issue(); err != nil {
		return state, nil, time.Time{}, err
	}
	t.withdraw()
	return t.state, t.steps, t.nextCheck(), nil
}

// turn is one call of Next.
type turn struct {
	state State
	now   time.Time
	want  Want
	steps []Step
	// refused is an authority that turned out not to be able to sign.
	refused *Pair
}

// issue sees to it that there is a serving certificate and an authority that has
// signed it. An authority that somebody else made may be bound to other purposes
// or names, which shows only when it has signed; one made here never is.
func (t *turn) issue() error {
	for range []string{"the authority in force", "the next one", "a fresh one"} {
		if err := t.authority(); err != nil {
			return err
		}
		if err := t.serving(); err != nil {
			return err
		}
		if t.refused != t.state.Authority {
			return nil
		}
	}
	return errors.New("issue serving certificate: no authority can sign it")
}

func (t *turn) did(action, reason string) {
	t.steps = append(t.steps, Step{Action: action, Reason: reason})
}

// authority sees to it that there is one that can sign, and that its successor
// comes in time.
func (t *turn) authority() error {
	s := &t.state
	if s.Next != nil {
		if why := t.unusable(s.Next); why != "" {
			s.Next = nil
			t.did(actionWithdraw, why)
		}
	}
	if why := t.unusable(s.Authority); why != "" {
		if err := t.replace(why); err != nil {
			return err
		}
	} else if s.Next != nil && !t.now.Before(promoteAt(s, t.want.Overlap)) {
		t.promote("it has been trusted for long enough")
	}
	if s.Next == nil && !t.now.Before(renewAt(s.Authority.Certificate, t.want.AuthorityValidity)) {
		return t.announce()
	}
	return nil
}

// unusable says why a pair cannot be used now, if so.
func (t *turn) unusable(p *Pair) string {
	if p == nil {
		return reasonNone
	}
	if p == t.refused {
		return "it cannot sign for this purpose"
	}
	if err := checkTimes(p.Certificate, t.now); err != nil {
		return err.Error()
	}
	return ""
}

// replace puts another authority in the place of one that cannot sign. The next
// one is the better choice, however young, for it may be trusted already.
func (t *turn) replace(why string) error {
	if t.state.Next != nil {
		t.promote(why)
		return nil
	}
	fresh, err := newAuthority(t.now, t.want.AuthorityValidity)
	if err != nil {
		return err
	}
	t.retire(fresh)
	t.did(actionIssueAuthority, why)
	return nil
}

func (t *turn) promote(why string) {
	successor := t.state.Next
	t.state.Next = nil
	t.retire(successor)
	t.did(actionPromote, why)
}

// retire puts a successor into force. The old authority stays trusted, because
// replicas present what it signed until they learn of the successor.
func (t *turn) retire(successor *Pair) {
	if old := t.state.Authority; old != nil {
		t.state.Retired = append(t.state.Retired, old.Certificate)
	}
	t.state.Authority = successor
	t.state.Since = wholeSecond(t.now)
}

func (t *turn) announce() error {
	successor, err := newAuthority(t.now, t.want.AuthorityValidity)
	if err != nil {
		return err
	}
	t.state.Next = successor
	t.did(actionAnnounce, reasonAge)
	return nil
}

// serving sees to it that there is a serving certificate that can be presented.
func (t *turn) serving() error {
	why, hosts := t.stale()
	if why == "" {
		return nil
	}
	fresh, err := newServing(t.state.Authority, t.now, t.want.Validity, hosts)
	if err != nil {
		return err
	}
	if !t.vouchedFor(fresh) {
		t.refused = t.state.Authority
		return nil
	}
	t.state.Serving = fresh
	t.did(actionIssueServing, why)
	return nil
}

// stale says why the serving certificate must be issued anew, if so, and for
// which host names.
func (t *turn) stale() (why string, hosts []string) {
	wanted := names(t.want.HostNames)
	if why := t.unusable(t.state.Serving); why != "" {
		return why, wanted
	}
	if !t.vouchedFor(t.state.Serving) {
		return "it is not signed by the authority in force", wanted
	}
	c := t.state.Serving.Certificate
	if !t.now.Before(renewAt(c, t.want.Validity)) {
		return reasonAge, wanted
	}
	has := certificateNames(c)
	lacks := func(h string) bool { return !slices.Contains(has, h) }
	if slices.ContainsFunc(wanted, lacks) {
		return "it lacks a host name", slices.Concat(has, wanted)
	}
	return "", nil
}

// vouchedFor says whether the authority in force, trusted alone, makes the API
// server accept a serving certificate.
func (t *turn) vouchedFor(p *Pair) bool {
	_, err := verify([]*x509.Certificate{p.Certificate}, []*x509.Certificate{t.state.Authority.Certificate}, t.now)
	return err == nil
}

// withdraw ends the trust in former authorities.
func (t *turn) withdraw() {
	s := &t.state
	if len(s.Retired) > 0 && s.Since.IsZero() {
		s.Since = wholeSecond(t.now)
	}
	s.Retired = slices.DeleteFunc(s.Retired, func(c *x509.Certificate) bool {
		if t.now.Before(withdrawAt(s, c, t.want.Overlap)) {
			return false
		}
		t.did(actionWithdraw, "nothing that it signed is in use")
		return true
	})
	if len(s.Retired) == 0 {
		s.Retired, s.Since = nil, time.Time{}
	}
}

// nextCheck is the earliest time at which a step can be due.
func (t *turn) nextCheck() time.Time {
	s := &t.state
	times := []time.Time{renewAt(s.Serving.Certificate, t.want.Validity)}
	if s.Next == nil {
		times = append(times, renewAt(s.Authority.Certificate, t.want.AuthorityValidity))
	} else {
		times = append(times, promoteAt(s, t.want.Overlap))
	}
	for _, c := range s.Retired {
		times = append(times, withdrawAt(s, c, t.want.Overlap))
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// renewAt is when two thirds of a certificate's life have passed, or of the
// validity now wanted if that is shorter.
func renewAt(c *x509.Certificate, validity time.Duration) time.Time {
	return issuedAt(c).Add(min(lifetime(c), validity) / 3 * 2)
}

// promoteAt is when the next authority signs: an overlap after it was made, but
// while the authority in force has a little left of what it had then.
func promoteAt(s *State, overlap time.Duration) time.Time {
	made := issuedAt(s.Next.Certificate)
	left := s.Authority.Certificate.NotAfter.Sub(made)
	return made.Add(min(overlap, left-left/60))
}

// withdrawAt is when a former authority is no longer trusted.
func withdrawAt(s *State, c *x509.Certificate, overlap time.Duration) time.Time {
	if end := s.Since.Add(overlap); end.Before(c.NotAfter) {
		return end
	}
	return c.NotAfter
}
