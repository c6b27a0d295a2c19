// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"sync"
	"time"
)

var errNotRead = errors.New("the Secret has not been read yet")

// memory is what a replica serves and why. It is safe for concurrent use.
type memory struct {
	// settle is how long the API servers get to take up a bundle that was published.
	settle time.Duration

	mu sync.RWMutex
	// served is in force; nil until the first.
	served *material
	// offered is the last good reading of the Secret. It differs from served
	// while the API server does not trust it.
	offered *material
	// problem is why nothing is served, or why the last reading was no good.
	problem error
	// bundle is what CABundle returns.
	bundle []byte
	// lingering stays in the bundle until a time although the Secret no longer
	// has it, because a certificate that it vouches for was in force.
	lingering      []*x509.Certificate
	lingeringUntil time.Time
	// published is what the admission objects carry, since a time as far as this
	// replica knows; empty if it does not or if there are none.
	published    []byte
	publishedSet []*x509.Certificate
	publishedAt  time.Time
}

// change is what an adoption did to the memory. Before is nil at the first.
type change struct {
	before, after *material
	// bundle says that the bundle is another one.
	bundle bool
	// again is when the same material must be adopted again; zero for never.
	again time.Time
}

// adopt takes a reading of the Secret. What it trusts goes into the bundle, and
// what it serves into force as soon as the API server trusts it.
func (m *memory) adopt(offer *material, now time.Time, overlap time.Duration) change {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := change{before: m.served}
	m.problem = nil
	m.linger(offer, now, overlap)
	m.offered = offer
	if c.again = m.heldUntil(offer, now); c.again.IsZero() {
		m.served = offer
	}
	c.after = m.served

	trusted := offer.trusted
	if now.Before(m.lingeringUntil) {
		trusted = slices.Concat(trusted, m.lingering)
		c.again = earlier(c.again, m.lingeringUntil)
	}
	bundle := encodeCertificates(sorted(trusted))
	c.bundle = !bytes.Equal(bundle, m.bundle)
	m.bundle = bundle
	return c
}

// linger keeps what vouches for the certificate in force in the bundle, if the
// offer breaks with it.
func (m *memory) linger(offer *material, now time.Time, overlap time.Duration) {
	if m.served == nil || slices.EqualFunc(m.offered.trusted, offer.trusted, (*x509.Certificate).Equal) {
		return
	}
	if checkTimes(m.served.leaf(), now) != nil || trusts(offer.trusted, m.served, now) {
		return
	}
	m.lingering = []*x509.Certificate{m.served.authority}
	m.lingeringUntil = now.Add(overlap)
}

// heldUntil says until when the certificate in force must stay because the API
// server trusts it and not yet the one on offer; zero if the latter can be
// served now.
func (m *memory) heldUntil(offer *material, now time.Time) time.Time {
	switch {
	case m.served == nil || len(m.publishedSet) == 0 || m.served.leaf().Equal(offer.leaf()):
		return time.Time{}
	case !trusts(m.publishedSet, m.served, now):
		return time.Time{}
	case !trusts(m.publishedSet, offer, now):
		return m.served.leaf().NotAfter
	case now.Before(m.publishedAt.Add(m.settle)):
		return m.publishedAt.Add(m.settle)
	}
	return time.Time{}
}

// trusts says whether an API server with these roots accepts the material now.
func trusts(roots []*x509.Certificate, m *material, now time.Time) bool {
	_, err := verify(m.chain, roots, now)
	return err == nil
}

// publish remembers what the admission objects carry and says whether that is
// new.
func (m *memory) publish(bundle []byte, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes.Equal(bundle, m.published) {
		return false
	}
	m.published, m.publishedAt = bytes.Clone(bundle), now
	// Like the API server, this takes from a bundle what it can read.
	m.publishedSet, _ = parseCertificates(bundle)
	return true
}

// fail remembers why a reading was no good; what is in force stays.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problem = err
}

// current returns what is served, or why there is nothing.
func (m *memory) current() (*material, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.served != nil {
		return m.served, nil
	}
	if m.problem != nil {
		return nil, m.problem
	}
	return nil, errNotRead
}

func (m *memory) caBundle() []byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return bytes.Clone(m.bundle)
}

// earlier returns the earlier of two times, of which the first may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
