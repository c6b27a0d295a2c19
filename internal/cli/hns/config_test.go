// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func TestConfigSet_change(t *testing.T) {
	t.Parallel()
	const propagate, ignore, remove, allow = hncv1alpha2.ModePropagate, hncv1alpha2.ModeIgnore, hncv1alpha2.ModeRemove, hncv1alpha2.ModeAllowPropagate
	tests := []struct {
		name   string
		before hncv1alpha2.SynchronizationMode // "none" for no entry
		mode   string
		force  bool
		want   hncv1alpha2.SynchronizationMode // empty for a refusal
	}{
		{"a kind that is not there yet", "none", "Propagate", false, propagate},
		{"no mode", "none", "", false, propagate},
		{"small letters", "none", "allowpropagate", false, allow},
		{"a mode that nobody knows is the API server's to refuse", "none", "Copy", false, "Copy"},
		{"from Ignore to Propagate", ignore, "Propagate", false, ""},
		{"from Ignore to AllowPropagate", ignore, "AllowPropagate", false, ""},
		{"from Ignore to no mode, which copies too", ignore, "", false, ""},
		{"from Ignore to Propagate by force", ignore, "Propagate", true, propagate},
		{"from Ignore to Remove", ignore, "Remove", false, remove},
		{"from Remove to Propagate", remove, "Propagate", false, propagate},
		{"from Propagate to Ignore", propagate, "Ignore", false, ignore},
		{"from the mode that is none to AllowPropagate", "", "AllowPropagate", false, allow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := hncv1alpha2.ResourceSpec{Group: "apps", Resource: "secrets", Mode: ignore}
			before := []hncv1alpha2.ResourceSpec{other}
			if tt.before != "none" {
				before = append(before, hncv1alpha2.ResourceSpec{Resource: "secrets", Mode: tt.before})
			}
			o := configSetOptions{resource: "secrets", mode: tt.mode, force: tt.force}
			got, refusal := o.change(before)
			if (refusal != "") != (tt.want == "") {
				t.Fatalf("refusal %q", refusal)
			}
			if refusal != "" {
				return
			}
			want := []hncv1alpha2.ResourceSpec{other, {Resource: "secrets", Mode: tt.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
