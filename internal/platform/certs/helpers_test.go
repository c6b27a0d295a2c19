// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"
)

const (
	day  = 24 * time.Hour
	year = 365 * day

	host = "holdfast-guard.holdfast-system.svc"
)

// start is when the tests begin: not at a whole second.
var start = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// defaults are those of the configuration.
func defaults() Want {
	return Want{
		HostNames:         []string{host, "127.0.0.1"},
		Validity:          90 * day,
		AuthorityValidity: 5 * year,
		Overlap:           day,
	}
}

// mustNext returns what Next returns, the steps without their reasons.
func mustNext(t *testing.T, s State, now time.Time, w Want) (State, []string, time.Time) {
	t.Helper()
	after, steps, check, err := Next(s, now, w)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return after, actions(steps), check
}

func actions(steps []Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Action)
	}
	return out
}

// install returns the state of a new installation.
func install(t *testing.T) State {
	t.Helper()
	s, _, _ := mustNext(t, State{}, start, defaults())
	return s
}

// inRotation returns a state in which the next authority is published, and when
// that was done.
func inRotation(t *testing.T) (State, time.Time) {
	t.Helper()
	at := start.Add(5 * year / 3 * 2).Add(time.Second)
	s, did, _ := mustNext(t, install(t), at, defaults())
	if !slices.Contains(did, actionAnnounce) {
		t.Fatalf("no authority was published: %q", did)
	}
	return s, at
}

// rotated returns a state in which the next authority signs, and since when.
func rotated(t *testing.T) (State, time.Time) {
	t.Helper()
	s, at := inRotation(t)
	at = at.Add(day + time.Second)
	s, did, _ := mustNext(t, s, at, defaults())
	if !slices.Contains(did, actionPromote) {
		t.Fatalf("no authority was promoted: %q", did)
	}
	return s, at
}

func mustEncode(t testing.TB, s State) map[string][]byte {
	t.Helper()
	data, err := Encode(s)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	return data
}

// accepted returns why an API server that trusts a bundle and calls a host
// refuses a certificate.
func accepted(leaf *x509.Certificate, bundle []byte, name string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
	return err
}

func bundleOf(s State) []byte {
	return encodeCertificates(s.Trusted())
}
