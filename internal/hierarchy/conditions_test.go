// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		blind  string
		active bool
		status metav1.ConditionStatus
		reason string
	}{
		{"not everything is read yet", world.ErrNotYet, "", false, metav1.ConditionUnknown, "NotYetChecked"},
		{"something cannot be read", fmt.Errorf("%w: secrets: forbidden", world.ErrNotYet), "namespaces: forbidden", true, metav1.ConditionFalse, "APIError"},
		{"standing by", nil, "", false, metav1.ConditionTrue, "StandsBy"},
		{"kept", nil, "", true, metav1.ConditionTrue, "Kept"},
		{"kept, but nobody can see what changes", nil, "namespaces: forbidden", true, metav1.ConditionFalse, "APIError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if c := known(tt.err, tt.blind, tt.active); c.Type != "HierarchyKnown" || c.Status != tt.status || c.Reason != tt.reason || c.Message == "" {
				t.Errorf("got %+v", c)
			}
		})
	}
}
