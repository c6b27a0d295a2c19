// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func testProtection(name string, generation int64, ready metav1.ConditionStatus, reason string) v1alpha1.ResourceDeletionProtection {
	p := v1alpha1.ResourceDeletionProtection{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation}}
	p.Spec.Reason = "for the shop"
	p.Status.ObservedGeneration = 1
	p.Status.Matches.Total = 3
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready, Reason: reason}}
	return p
}

func TestPrintProtections(t *testing.T) {
	t.Parallel()
	fresh := testProtection("new", 1, metav1.ConditionTrue, "Protected")
	fresh.Status = v1alpha1.ResourceDeletionProtectionStatus{}
	fresh.Spec.Mode, fresh.Spec.Reason = v1alpha1.ModeCascading, ""
	streams, out, _ := testStreams()
	newClients(streams).printProtections([]v1alpha1.ResourceDeletionProtection{
		testProtection("whole", 1, metav1.ConditionTrue, "Protected"),
		testProtection("changed", 2, metav1.ConditionTrue, "Protected"),
		testProtection("partly", 1, metav1.ConditionFalse, "Unenforceable"),
		fresh,
	})
	const want = `NAME      MODE        MATCHES     DENIALS   READY                  REASON
changed   Always      <unknown>   -         Unknown                for the shop
new       Cascading   <unknown>   -         Unknown                <none>
partly    Always      3           -         False: Unenforceable   for the shop
whole     Always      3           -         True                   for the shop
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
