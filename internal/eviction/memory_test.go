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
)

// Nodes and namespaces come and go; what is remembered of them goes as well,
// though nobody asks for it again.
func TestMemory_whatIsRememberedIsForgotten(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	l, p := &lookup{clock: clock}, &pods{clock: clock}
	for i := range 100 {
		name := fmt.Sprintf("n-%d", i)
		l.remember(name)
		p.learn(name, "get", apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("cannot get resource")))
		clock.Step(forbiddenFor / 2)
	}
	if len(l.draining) > 3 || len(p.forbidden) > 3 {
		t.Errorf("%d nodes and %d namespaces are remembered", len(l.draining), len(p.forbidden))
	}
	if len(p.withoutRights()) == 0 {
		t.Error("what was learned just now is forgotten")
	}
}
