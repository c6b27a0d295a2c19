// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// RootSync old, which is older than shop, may write nothing.
func TestJudge_byRights(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                         string
		declares, has, others, space string
		id                           string
		want                         object.Standing
		stay                         string // why Namespace n, or the definition, stays
	}{
		{name: "what the older one has, and may not write", declares: "n/a", others: "n/a", space: "-", id: "n/a", want: object.Standing{Owner: "shop"}, stay: "namespace still in use: n"},
		{name: "what it had, and the older one may not take over", others: "n/a", has: "n/a", space: "-", id: "n/a"},
		{name: "the Namespace that both declare", declares: "n", others: "n", space: "old declares", id: "n", want: object.Standing{Owner: "shop"}},
		{name: "the Namespace that the older one uses", has: "n", others: "n/b", space: "shop declares", id: "n"},
		{name: "the definition of what the older one has", has: "widgets.acme.dev", space: "-", id: "widgets.acme.dev"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inputOf(t, tt.declares, tt.has, tt.others)
			in.Others[0].Has[object.ID{Group: "acme.dev", Kind: "Widget", Name: "w"}] = true
			in.may = func(who object.Sync, _ object.ID, _ bool) object.Right {
				if who == "old" {
					return object.Missing
				}
				return object.Granted
			}
			s := in.judge(map[string]space{"n": namespaceOf(t, tt.space)})
			id := ids(tt.id)[0]
			if diff := cmp.Diff(tt.want, s.standing(id, tt.declares != "", true)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			of := object.NamespaceID("n")
			if id.Kind == "CustomResourceDefinition" {
				of = id
			}
			stays, _ := s.inUse(of)
			if diff := cmp.Diff(tt.stay, stays); diff != "" {
				t.Errorf("why it stays (-want +got)\n%s", diff)
			}
		})
	}
}
