// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Who says how many copies there are, or that some wait to go, has to know whether all are seen.
func TestConfig_saysWhetherObjectsAreOnTheirWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var secrets inventory.ObjectSource
	for _, step := range []struct {
		name string
		do   event
		want bool
	}{
		{"all are seen", func(*state, *batch) {}, false},
		{"another kind is to be copied", func(s *state, b *batch) {
			config := &hncv1alpha2.HNCConfiguration{Spec: hncv1alpha2.HNCConfigurationSpec{Resources: []hncv1alpha2.ResourceSpec{{Resource: "secrets", Mode: hncv1alpha2.ModePropagate}}}}
			config.Name = hncv1alpha2.HNCConfigurationName
			s.seen(settingsOf, config, b)
			started, _ := s.setResources(serves("secrets"), b)
			secrets = started[0]
		}, true},
		{"it cannot be watched", func(s *state, b *batch) { s.failed(secrets, "forbidden", b) }, false},
		{"it can again", func(s *state, b *batch) { s.failed(secrets, "", b) }, true},
		{"all of it are seen", func(s *state, b *batch) { s.syncedNow(secrets, b) }, false},
	} {
		r.do(step.do)
		if got := r.Config().Reading; got != step.want {
			t.Errorf("%s: on their way: %t, want %t", step.name, got, step.want)
		}
	}
}
