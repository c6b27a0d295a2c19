// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestReport_contest(t *testing.T) {
	t.Parallel()
	contested := func(by map[string][]object.Sync) Facts {
		f := synced("c1")
		f.Contested = by
		return f
	}
	nobody := map[string][]object.Sync{}
	shop := map[string][]object.Sync{"web": {"b"}, "shop": {"b", "c"}}
	const told = "True/DeclaredTwice/these namespaces are this RootSync's, and others declare them too: shop (RootSync b, RootSync c), web (RootSync b); declare each in one source only"
	tests := []struct {
		name  string
		steps []Facts
		want  string
	}{
		{"nobody else declares what it has", []Facts{contested(nobody)}, ""},
		{"others do", []Facts{contested(nobody), contested(shop)}, told},
		{"others do, and nothing is known since, as after a start", []Facts{contested(shop), contested(nil)}, told},
		{"others do, and its spec is wrong", []Facts{contested(shop), {Sync: "a", Generation: 3, Contested: shop, Stalled: &Stalled{Reason: "Validation", Err: knv.New(knv.InvalidSync, "wrong")}}}, told},
		{"they do it no longer", []Facts{contested(shop), contested(nobody)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if c := condition(after(tt.steps...), configsyncv1beta1.ConditionNamespacesContested); c != nil {
				got = fmt.Sprintf("%s/%s/%s", c.Status, c.Reason, c.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
