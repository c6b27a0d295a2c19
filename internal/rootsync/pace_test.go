// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

func TestEnds(t *testing.T) {
	t.Parallel()
	const none metav1.ConditionStatus = ""
	tests := map[string]struct {
		former, next metav1.ConditionStatus
		want         bool
	}{
		"it was going on, and has ended": {"True", "False", true},
		"it goes on":                     {"True", "True", false},
		"it begins":                      {"False", "True", false},
		"it had ended, and stays so":     {"False", "False", false},
		"nothing was said before":        {none, "False", false},
	}
	status := func(is metav1.ConditionStatus) (s configsyncv1beta1.RootSyncStatus) {
		if is != none {
			s.Conditions = []configsyncv1beta1.Condition{{Type: configsyncv1beta1.ConditionSyncing, Status: is}}
		}
		return s
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ends(status(tt.former), status(tt.next)); got != tt.want {
				t.Errorf("it ends: %v, want %v", got, tt.want)
			}
		})
	}
}
