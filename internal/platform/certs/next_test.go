// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state func(t *testing.T) (State, time.Time)
		after time.Duration
		want  func(w *Want)
		// did are the actions wanted.
		did []string
		// keeps says that an API server with the old bundle accepts the new
		// certificate.
		keeps bool
	}{{
		name:  "a new installation gets an authority and a certificate",
		state: func(*testing.T) (State, time.Time) { return State{}, start },
		did:   []string{actionIssueAuthority, actionIssueServing},
	}, {
		name:  "nothing happens right after the installation",
		state: installed,
		keeps: true,
	}, {
		name:  "nothing happens just before two thirds of the validity",
		state: installed,
		after: 60*day - time.Second,
		keeps: true,
	}, {
		name:  "a certificate is renewed at two thirds of its validity",
		state: installed,
		after: 60*day + time.Second,
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name:  "an expired certificate is renewed by the same authority after a year of sleep",
		state: installed,
		after: year,
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name:  "everything is new after ten years of sleep",
		state: installed,
		after: 10 * year,
		did:   []string{actionIssueAuthority, actionIssueServing, actionWithdraw},
	}, {
		name:  "a clock that is a little behind changes nothing",
		state: installed,
		after: -4 * time.Minute,
		keeps: true,
	}, {
		name:  "certificates from the future are replaced",
		state: installed,
		after: -day,
		did:   []string{actionIssueAuthority, actionIssueServing},
	}, {
		name:  "a host name that is added gets a certificate at once",
		state: installed,
		want:  func(w *Want) { w.HostNames = append(w.HostNames, "guard.example.com") },
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name:  "an address that is added gets a certificate at once",
		state: installed,
		want:  func(w *Want) { w.HostNames = append(w.HostNames, "::1") },
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name:  "host names in another order, case and form are the same",
		state: installed,
		want: func(w *Want) {
			w.HostNames = []string{"127.0.0.1", "::ffff:127.0.0.1", "Holdfast-Guard.Holdfast-System.SVC"}
		},
		keeps: true,
	}, {
		name:  "a host name that is gone waits for the renewal",
		state: installed,
		want:  func(w *Want) { w.HostNames = []string{host} },
		keeps: true,
	}, {
		name:  "a shorter validity counts for certificates that are issued already",
		state: installed,
		after: day,
		want:  func(w *Want) { w.Validity = time.Hour },
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name:  "a longer validity waits for the renewal",
		state: installed,
		after: 60*day - time.Second,
		want:  func(w *Want) { w.Validity = 180 * day },
		keeps: true,
	}, {
		name:  "a shorter validity of the authority begins its rotation",
		state: installed,
		after: 50 * day,
		want:  func(w *Want) { w.AuthorityValidity = 60 * day; w.Validity = 58 * day },
		did:   []string{actionAnnounce, actionIssueServing},
		keeps: true,
	}, {
		name:  "a next authority signs nothing before the overlap has passed",
		state: inRotationAt,
		after: day - time.Second,
		keeps: true,
	}, {
		name:  "a longer overlap counts for an authority that is published already",
		state: inRotationAt,
		after: day + time.Second,
		want:  func(w *Want) { w.Overlap = 2 * day },
		keeps: true,
	}, {
		name:  "a next authority signs when the overlap has passed",
		state: inRotationAt,
		after: day + time.Second,
		did:   []string{actionPromote, actionIssueServing},
		keeps: true,
	}, {
		name:  "a next authority takes over when the one in force has expired",
		state: inRotationAt,
		after: 2 * year,
		did:   []string{actionPromote, actionIssueServing, actionWithdraw},
		keeps: true,
	}, {
		name:  "a next authority that has expired with the one in force is dropped",
		state: inRotationAt,
		after: 6 * year,
		did:   []string{actionWithdraw, actionIssueAuthority, actionIssueServing, actionWithdraw},
	}, {
		name:  "an old authority is trusted until another overlap has passed",
		state: rotatedAt,
		after: day - time.Second,
		keeps: true,
	}, {
		name:  "an old authority is withdrawn when another overlap has passed",
		state: rotatedAt,
		after: day + time.Second,
		did:   []string{actionWithdraw},
		keeps: true,
	}, {
		name: "an authority whose key is lost is replaced and still trusted",
		state: func(t *testing.T) (State, time.Time) {
			s := install(t)
			return State{Serving: s.Serving, Retired: s.Trusted()}, start
		},
		did: []string{actionIssueAuthority, actionIssueServing},
	}, {
		name: "a next authority takes over when the key of the one in force is lost",
		state: func(t *testing.T) (State, time.Time) {
			s, at := inRotation(t)
			s.Retired, s.Authority = []*x509.Certificate{s.Authority.Certificate}, nil
			return s, at
		},
		did:   []string{actionPromote, actionIssueServing},
		keeps: true,
	}, {
		name: "a certificate of another authority is replaced",
		state: func(t *testing.T) (State, time.Time) {
			s := install(t)
			s.Serving = install(t).Serving
			return s, start
		},
		did:   []string{actionIssueServing},
		keeps: true,
	}, {
		name: "an authority that may not sign for servers is replaced",
		state: func(t *testing.T) (State, time.Time) {
			return State{Authority: clientsOnly(t)}, start
		},
		did: []string{actionIssueAuthority, actionIssueServing},
	}, {
		name: "a time that is missing is counted from now",
		state: func(t *testing.T) (State, time.Time) {
			s, at := rotated(t)
			s.Since = time.Time{}
			return s, at
		},
		keeps: true,
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, at := tt.state(t)
			now, want := at.Add(tt.after), defaults()
			if tt.want != nil {
				tt.want(&want)
			}
			original := before
			original.Retired = slices.Clone(before.Retired)

			after, did, check := mustNext(t, before, now, want)
			if diff := cmp.Diff(tt.did, did); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(original, before); diff != "" {
				t.Errorf("Next changed what it was given:\n%s", diff)
			}
			if !check.After(now) {
				t.Errorf("next check at %s, which is not after %s", check, now)
			}
			checkServing(t, after, want, now)
			again, did, _ := mustNext(t, after, now, want)
			if diff := cmp.Diff(after, again); diff != "" || len(did) > 0 {
				t.Errorf("asked again it took the steps %q:\n%s", did, diff)
			}
			if err := accepted(after.Serving.Certificate, bundleOf(before), host, now); tt.keeps && err != nil {
				t.Errorf("the bundle of before does not accept the certificate: %v", err)
			}
			if before.Serving == nil || checkTimes(before.Serving.Certificate, now) != nil || accepted(before.Serving.Certificate, bundleOf(before), host, now) != nil {
				return
			}
			if err := accepted(before.Serving.Certificate, bundleOf(after), host, now); err != nil {
				t.Errorf("the new bundle does not accept the certificate of before: %v", err)
			}
		})
	}
}

func installed(t *testing.T) (State, time.Time)    { return install(t), start }
func inRotationAt(t *testing.T) (State, time.Time) { return inRotation(t) }
func rotatedAt(t *testing.T) (State, time.Time)    { return rotated(t) }

// clientsOnly returns an authority that may vouch for clients alone.
func clientsOnly(t testing.TB) *Pair {
	t.Helper()
	p, err := sign(&x509.Certificate{
		NotBefore:             start.Add(-backdate),
		NotAfter:              start.Add(year),
		IsCA:                  true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkServing fails unless the API server accepts the certificate of a state
// under every host name.
func checkServing(t *testing.T, s State, w Want, now time.Time) {
	t.Helper()
	for _, h := range w.HostNames {
		if err := accepted(s.Serving.Certificate, bundleOf(s), h, now); err != nil {
			t.Errorf("the API server refuses the certificate: %v", err)
		}
	}
	if end := s.Authority.Certificate.NotAfter; s.Serving.Certificate.NotAfter.After(end) {
		t.Errorf("the certificate outlives its authority, which ends at %s", end)
	}
}

// TestNext_noLateReplicaFails walks through three lives of an authority. A
// replica may present a certificate, and the API server trust a bundle, that was
// replaced less than an overlap ago: they must fit all the same.
func TestNext_noLateReplicaFails(t *testing.T) {
	t.Parallel()
	type version struct {
		leaf     *x509.Certificate
		bundle   []byte
		replaced time.Time
	}
	want := defaults()
	state, _, check := mustNext(t, State{}, start, want)
	versions := []version{{leaf: state.Serving.Certificate, bundle: bundleOf(state)}}
	count := map[string]int{}
	for now := check; now.Before(start.Add(15 * year)); now = check {
		before := bundleOf(state)
		var did []string
		state, did, check = mustNext(t, state, now, want)
		if len(did) == 0 || !check.After(now) {
			t.Fatalf("at %s nothing was due, next check at %s", now, check)
		}
		for _, a := range did {
			count[a]++
		}
		if slices.Contains(did, actionPromote) && !slices.Equal(before, bundleOf(state)) {
			t.Errorf("at %s the bundle changed with the signing authority", now)
		}
		versions[len(versions)-1].replaced = now
		versions = append(versions, version{leaf: state.Serving.Certificate, bundle: bundleOf(state)})
		versions = slices.DeleteFunc(versions, func(v version) bool {
			return !v.replaced.IsZero() && !now.Before(v.replaced.Add(want.Overlap))
		})
		for _, served := range versions {
			for _, trusted := range versions {
				if err := accepted(served.leaf, trusted.bundle, host, now); err != nil {
					t.Fatalf("at %s after %q a late replica is refused: %v", now, did, err)
				}
			}
		}
	}
	// An authority signs for 3⅓ years.
	wanted := map[string]int{actionAnnounce: 4, actionPromote: 4, actionWithdraw: 4}
	delete(count, actionIssueServing)
	if diff := cmp.Diff(wanted, count); diff != "" {
		t.Errorf("steps in 15 years (-want +got):\n%s", diff)
	}
}

// TestNext_replicasThatDisagreeSettle has two replicas that want different host
// names and validities, as during an upgrade.
func TestNext_replicasThatDisagreeSettle(t *testing.T) {
	t.Parallel()
	one, other := defaults(), defaults()
	one.HostNames = []string{"one.example.com"}
	other.HostNames, other.Validity = []string{"other.example.com"}, time.Hour
	state, _, _ := mustNext(t, State{}, start, one)
	state, did, _ := mustNext(t, state, start, other)
	if diff := cmp.Diff([]string{actionIssueServing}, did); diff != "" {
		t.Fatalf("actions (-want +got):\n%s", diff)
	}
	for range 2 {
		for _, w := range []Want{one, other} {
			if state, did, _ = mustNext(t, state, start, w); len(did) > 0 {
				t.Errorf("the replicas replace each other's certificate: %q", did)
			}
		}
	}
	later := start.Add(41 * time.Minute)
	state, _, _ = mustNext(t, state, later, other)
	if diff := cmp.Diff(other.HostNames, certificateNames(state.Serving.Certificate)); diff != "" {
		t.Errorf("host names after the renewal (-want +got):\n%s", diff)
	}
}

func TestNext_refusesSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want func(w *Want)
		err  string
	}{
		{"no host names", func(w *Want) { w.HostNames = nil }, "plan certificates: no host names"},
		{"an empty host name", func(w *Want) { w.HostNames = []string{""} }, "plan certificates: an empty host name"},
		{"a validity of seconds", func(w *Want) { w.Validity = time.Second }, "plan certificates: validity 1s is less than 1m"},
		{"an authority that ends first", func(w *Want) { w.AuthorityValidity = time.Hour }, "plan certificates: authority validity 1h0m0s is not more than validity 2160h0m0s"},
		{"no overlap", func(w *Want) { w.Overlap = 0 }, "plan certificates: overlap 0s is not between 0 and a third of authority validity 43800h0m0s"},
		{"an overlap that does not fit", func(w *Want) { w.Overlap = 2 * year }, "plan certificates: overlap 17520h0m0s is not between 0 and a third of authority validity 43800h0m0s"},
		{"a name that no certificate can hold", func(w *Want) { w.HostNames = []string{"bücher.example"} }, `issue serving certificate: sign certificate: x509: "bücher.example" cannot be encoded as an IA5String`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := defaults()
			tt.want(&w)
			before := install(t)
			after, did, _, err := Next(before, start, w)
			if err == nil {
				t.Fatalf("no error, steps %v", did)
			}
			if diff := cmp.Diff(tt.err, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the state changed:\n%s", diff)
			}
		})
	}
}

func TestNext_shortLives(t *testing.T) {
	t.Parallel()
	w := defaults()
	w.Validity, w.AuthorityValidity, w.Overlap = time.Minute, 3*time.Minute, 59*time.Second
	state, _, check := mustNext(t, State{}, start, w)
	steps := 0
	for now := check; now.Before(start.Add(time.Hour)); now = check {
		old := state
		state, _, check = mustNext(t, state, now, w)
		if check.Before(now.Add(time.Second)) {
			check = now.Add(time.Second)
		}
		if err := accepted(old.Serving.Certificate, bundleOf(state), host, now); err != nil {
			t.Fatalf("at %s the certificate of before is refused: %v", now, err)
		}
		if err := accepted(state.Serving.Certificate, bundleOf(old), host, now); err != nil {
			t.Fatalf("at %s the new certificate is refused: %v", now, err)
		}
		steps++
	}
	if steps > 300 {
		t.Errorf("%d steps in an hour", steps)
	}
}
