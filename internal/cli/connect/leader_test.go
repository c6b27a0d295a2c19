// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSilent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		holder string
		// lasts is the duration of the lease in seconds.
		lasts int32
		age   time.Duration
		want  string
	}{
		{name: "a leader", holder: "a", lasts: 15, age: 2 * time.Second},
		{name: "a leader whose clock is ahead", holder: "a", lasts: 15, age: -time.Minute},
		{name: "one that crashed, and another one takes over", holder: "a", lasts: 15, age: 29 * time.Second},
		{
			name: "one that crashed, and no other one took over", holder: "a", lasts: 15, age: 40 * time.Second,
			want: "no replica of the guard leads: the lease holdfast-guard in namespace holdfast-system was last renewed 40s ago. What Holdfast says of itself is from then",
		},
		{name: "one that has just given the lease back", lasts: 1, age: 3 * time.Second},
		{
			name: "one that gave it back, and nobody took it", lasts: 1, age: time.Hour,
			want: "no replica of the guard leads: the lease holdfast-guard in namespace holdfast-system was last renewed 60m ago. What Holdfast says of itself is from then",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: Guard.Lease}}
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &tt.holder, &tt.lasts
			lease.Spec.RenewTime = &metav1.MicroTime{Time: now.Add(-tt.age)}
			if diff := cmp.Diff(tt.want, silent(Guard, lease, now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
