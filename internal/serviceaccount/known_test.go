// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// What nobody seems to want is given back, but not at once: for half a minute after the
// start the API server may not tell of all kinds, and not while one does not answer.
func TestKnown_leavesWhatIsNotWantedAloneAtFirst(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	touched := 0
	k := newKnown(clock, func(types.NamespacedName) { touched++ }, func(string) {}, func() {}, timing.Production())
	set := func(incomplete bool) {
		k.set(map[string]*mapping.Mapping{}, incomplete, func(*mapping.Mapping) inventory.ObjectSource { return inventory.ObjectSource{} },
			func(inventory.ObjectSource) []metav1.Object { return nil })
	}
	account := &metav1.PartialObjectMetadata{}
	account.Namespace, account.Name, account.UID, account.ResourceVersion = "team", "a", "1", "1"
	account.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: plan.FieldManager, Operation: metav1.ManagedFieldsOperationApply}}
	key := types.NamespacedName{Namespace: "team", Name: "a"}
	decides := func(want bool, when string) {
		t.Helper()
		if f, _, got := k.facts(key, scope.Scope{}); got != want || got && !f.Abandoned {
			t.Errorf("%s: it is decided about: %t, want %t; %+v", when, got, want, f)
		}
	}
	set(false)
	k.Seen(accountSource, account)
	decides(false, "before all is known")
	for _, s := range always {
		k.Synced(s)
	}
	decides(false, "at the start")
	clock.Step(timing.Production().AccountsDiscovered - time.Second)
	decides(false, "just before half a minute")
	touched = 0
	clock.Step(time.Second)
	decides(true, "after half a minute")
	if touched == 0 {
		t.Error("nobody has it looked at then")
	}
	set(true)
	decides(false, "while a kind does not answer")
	touched = 0
	set(false)
	decides(true, "once it has")
	if touched == 0 {
		t.Error("nobody has it looked at then")
	}
}
