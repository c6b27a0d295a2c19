// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMemory_servesWhatIsTrusted has a certificate in force and another, of an
// authority that the first bundle does not have, on offer.
func TestMemory_servesWhatIsTrusted(t *testing.T) {
	t.Parallel()
	old, fresh := issued(install(t)), issued(install(t))
	oldBundle, freshBundle := encodeCertificates(old.trusted), encodeCertificates(fresh.trusted)
	both := append(append([]byte(nil), oldBundle...), freshBundle...)
	tests := []struct {
		name string
		// published is what the admission objects carry, since a time before.
		published []byte
		since     time.Duration
		after     time.Duration
		fresh     bool
		again     time.Time
	}{
		{name: "the new one if nobody said what is published", fresh: true, again: start.Add(day)},
		{name: "the old one while only that is trusted", published: oldBundle, since: year, again: start.Add(day)},
		{name: "the old one while the bundle is settling", published: both, since: 4 * time.Second, again: start.Add(6 * time.Second)},
		{name: "the new one when the bundle has settled", published: both, since: settle, fresh: true, again: start.Add(day)},
		{name: "the new one at once if only that is trusted", published: freshBundle, fresh: true, again: start.Add(day)},
		{name: "the new one if neither is trusted", published: encodeCertificates(issued(install(t)).trusted), fresh: true, again: start.Add(day)},
		{name: "the new one if what is published is garbage", published: []byte("garbage"), fresh: true, again: start.Add(day)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := memory{settle: settle}
			m.adopt(old, start, day)
			m.publish(tt.published, start.Add(-tt.since))
			want, wantBefore := old, old
			if tt.fresh {
				want = fresh
			}
			c := m.adopt(fresh, start, day)
			if c.before != wantBefore || c.after != want {
				t.Errorf("the wrong certificate is in force")
			}
			if diff := cmp.Diff(tt.again, c.again); diff != "" {
				t.Errorf("to look at again (-want +got):\n%s", diff)
			}
			if err := accepted(old.leaf(), m.caBundle(), host, start); err != nil {
				t.Errorf("the bundle breaks with what was served: %v", err)
			}
			if err := accepted(fresh.leaf(), m.caBundle(), host, start); err != nil {
				t.Errorf("the bundle lacks what is on offer: %v", err)
			}
			m.adopt(fresh, start.Add(day), day)
			if diff := cmp.Diff(string(freshBundle), string(m.caBundle())); diff != "" {
				t.Errorf("the bundle after the overlap (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMemory_anExpiredCertificateIsNotKept(t *testing.T) {
	t.Parallel()
	old, fresh := issued(install(t)), issued(install(t))
	var m memory
	m.adopt(old, start, day)
	m.publish(encodeCertificates(old.trusted), start)
	if c := m.adopt(fresh, start.Add(90*day+time.Second), day); c.after != fresh || !c.again.IsZero() {
		t.Error("an expired certificate was kept")
	}
	if diff := cmp.Diff(string(encodeCertificates(fresh.trusted)), string(m.caBundle())); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
}

func TestMemory_aRestartedReplicaServesWhatItFinds(t *testing.T) {
	t.Parallel()
	var m memory
	m.publish(encodeCertificates(issued(install(t)).trusted), start)
	fresh := issued(install(t))
	if c := m.adopt(fresh, start, day); c.before != nil || c.after != fresh || !c.bundle {
		t.Error("a replica that has nothing else to serve does not serve what it found")
	}
}
