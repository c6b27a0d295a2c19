// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Nodes and namespaces come and go; what is remembered of them goes as well,
// though nobody asks for it again.
func TestMemory_whatIsRememberedIsForgotten(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	pauses := timing.Production()
	l, p := &lookup{clock: clock, pauses: pauses}, &pods{clock: clock, pauses: pauses}
	for i := range 100 {
		name := fmt.Sprintf("n-%d", i)
		l.remember(name)
		p.learn(name, "get", apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("cannot get resource")))
		clock.Step(pauses.ForbiddenPods / 2)
	}
	if len(l.draining) > 3 || len(p.forbidden) > 3 {
		t.Errorf("%d nodes and %d namespaces are remembered", len(l.draining), len(p.forbidden))
	}
	if len(p.withoutRights()) == 0 {
		t.Error("what was learned just now is forgotten")
	}
}
