// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	type change = func(target) (map[string]any, string)
	tests := []struct {
		name    string
		change  change
		labels  map[string]string
		wantSet map[string]any
		want    string
	}{
		{"protect", protectChange, nil, map[string]any{strictLabel: "Always"}, "protected"},
		{"protect again", protectChange, map[string]string{strictLabel: "Always"}, nil, "already protected"},
		{"protect mends a value that means nothing", protectChange, map[string]string{strictLabel: "always"}, map[string]any{strictLabel: "Always"}, "protected"},
		{"protect beside Karmada's label", protectChange, map[string]string{karmadaLabel: "Always"}, map[string]any{strictLabel: "Always"}, "protected"},
		{"unprotect", unprotectChange, map[string]string{strictLabel: "Always", "app": "web"}, map[string]any{strictLabel: nil}, "unprotected"},
		{"unprotect what is not protected", unprotectChange, map[string]string{"app": "web"}, nil, "not protected"},
		{
			"unprotect takes the upstream labels too, whatever their values", unprotectChange,
			map[string]string{strictLabel: "Always", karmadaLabel: "", kruiseLabel: "Cascading"},
			map[string]any{strictLabel: nil, karmadaLabel: nil, kruiseLabel: nil},
			"unprotected (removed " + strictLabel + ", " + karmadaLabel + ", " + kruiseLabel + ")",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, got := tt.change(target{meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels}}})
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.wantSet, set); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
