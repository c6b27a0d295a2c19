// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
)

func TestExplainPrune(t *testing.T) {
	t.Parallel()
	meta := &metav1.PartialObjectMetadata{}
	meta.Name = "shop"
	for _, tt := range []struct {
		name    string
		pruning preview.Pruning
		allowed bool
		next    string
		step    string
	}{
		{name: "it goes", pruning: preview.Pruning{Action: decide.Delete}, allowed: true},
		{name: "it is let go of", pruning: preview.Pruning{Action: decide.Abandon}, allowed: true},
		{
			name: "it is protected", pruning: preview.Pruning{Action: decide.Keep, Blocker: preview.BlockedByRefusal, Refused: apierrors.NewForbidden(namespacesKind.GroupResource(), "shop", nil)},
			next: "RootSync apps asks again when its labels or its spec change", step: "kubectl holdfast why delete namespaces/shop",
		},
		{
			name: "others use it", pruning: preview.Pruning{Action: decide.Keep, Blocker: preview.BlockedByUse},
			next: "RootSync apps asks again when those who use it have gone", step: "kubectl holdfast owner namespaces/shop",
		},
		{name: "the RootSync itself uses it", pruning: preview.Pruning{Action: decide.Keep, Blocker: preview.BlockedByOwnUse}, next: "RootSync apps lets go of it when it has nothing there any more"},
		{name: "something runs in it", pruning: preview.Pruning{Action: decide.Keep, Blocker: preview.BlockedByOccupants}, next: "RootSync apps looks again every minute", step: "move or delete"},
		{name: "others need it", pruning: preview.Pruning{Action: decide.Keep, Blocker: preview.BlockedByNeed}, next: "RootSync apps asks again when that has gone"},
		{name: "another takes it over", pruning: preview.Pruning{Action: decide.HandOver}, next: "lets go of it once the other has taken it over"},
		{name: "it goes already", pruning: preview.Pruning{Action: decide.Wait, Blocker: preview.BlockedByEnd}, next: "waits until it has gone", step: "kubectl get namespaces/shop"},
		{name: "it is not the RootSync's", pruning: preview.Pruning{Action: decide.Gone}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := explainPrune(newTarget(namespacesKind, meta.DeepCopy()), &sync.Prune{Pruning: tt.pruning, RootSync: "apps"})
			if x.Allowed != tt.allowed || !strings.Contains(x.Next, tt.next) || (tt.next == "") != (x.Next == "") {
				t.Errorf("got %v, next %q", x.Allowed, x.Next)
			}
			if steps := strings.Join(x.NextSteps, "\n"); !strings.Contains(steps, tt.step) || (tt.step == "") != (steps == "") {
				t.Errorf("got %q", steps)
			}
		})
	}
}
