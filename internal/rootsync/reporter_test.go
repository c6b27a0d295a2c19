// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

func TestUnsaid(t *testing.T) {
	t.Parallel()
	status := func(generation int64, fetched, synced string, about configsyncv1beta1.ConditionType, is metav1.ConditionStatus) configsyncv1beta1.RootSyncStatus {
		var s configsyncv1beta1.RootSyncStatus
		s.ObservedGeneration, s.Source.Commit, s.Sync.Commit = generation, fetched, synced
		s.Conditions = []configsyncv1beta1.Condition{{Type: about, Status: is}}
		return s
	}
	const syncing = configsyncv1beta1.ConditionSyncing
	done := status(1, "a", "a", syncing, "False")
	tests := map[string]struct {
		former, next configsyncv1beta1.RootSyncStatus
		want         bool
	}{
		"a start, and nothing is fetched yet":      {done, status(1, "", "a", syncing, "True"), true},
		"a start, and the same commit is there":    {done, status(1, "a", "a", syncing, "True"), true},
		"another commit":                           {done, status(1, "b", "a", syncing, "True"), false},
		"another spec":                             {done, status(2, "a", "a", syncing, "True"), false},
		"it was not over":                          {status(1, "a", "a", syncing, "True"), status(1, "a", "a", syncing, "True"), false},
		"it is over":                               {done, status(1, "a", "a", syncing, "False"), false},
		"a start, and the last commit was refused": {status(1, "b", "a", syncing, "False"), status(1, "b", "a", syncing, "True"), true},
		"nothing was said before":                  {configsyncv1beta1.RootSyncStatus{}, status(1, "a", "a", syncing, "True"), false},
		"it was suspended": {func() configsyncv1beta1.RootSyncStatus {
			s := status(1, "a", "a", configsyncv1beta1.ConditionSuspended, "True")
			s.Conditions = append(s.Conditions, done.Conditions...)
			return s
		}(), status(1, "a", "a", syncing, "True"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, pauses := time.Now(), timing.Production()
			var p reporter
			if got := p.unsaid(tt.former, tt.next, now, pauses) > 0; got != tt.want {
				t.Errorf("nothing is said: %v, want %v", got, tt.want)
			}
			if got := p.unsaid(tt.former, tt.next, now.Add(pauses.Unsaid), pauses) > 0; got != tt.want {
				t.Errorf("nothing is said while all others start too: %v, want %v", got, tt.want)
			}
			if p.unsaid(tt.former, tt.next, now.Add(pauses.UnsaidAtStart), pauses) > 0 {
				t.Error("it is never said")
			}
			p = reporter{told: true}
			p.unsaid(tt.former, tt.next, now, pauses)
			if p.unsaid(tt.former, tt.next, now.Add(pauses.Unsaid), pauses) > 0 {
				t.Error("later on it is never said")
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"etcdserver: request is too large": true,
		"rpc error: code = ResourceExhausted desc = trying to send message larger than max (2194075 vs. 2097152)": true,
		"Request entity too large: limit is 3145728":                                                              true,
		"rpc error: code = Unavailable desc = error reading from server":                                          false,
		`rootsyncs.configsync.gke.io "a" is forbidden: User "b" cannot update resource "rootsyncs/status"`:        false,
	} {
		if got := tooLarge(errors.New(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
