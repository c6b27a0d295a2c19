// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// Conditions say what is wrong around the trees; none while they are not followed.
func (g *Guard) Conditions() []metav1.Condition {
	if !g.follows() {
		return nil
	}
	_, err := g.world.View()
	return append(g.rivals.Conditions(), known(err, g.world.Blind(), g.current().Active()))
}

// known is the condition of what is known of the trees. Not everything has been read
// yet at first, which is no news; that something cannot be read is, then or later.
func known(err error, blind string, active bool) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionHierarchyKnown, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonKept}
	switch {
	case errors.Is(err, world.ErrNotYet) && errors.Unwrap(err) == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonNotYetChecked, err.Error()
	case err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonAPIError, err.Error()+"; until then nothing is copied"
	case blind != "":
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonAPIError
		c.Message = "the trees of namespaces may have changed since they were read: " + blind + "; until that is over no subnamespace is deleted"
	case active:
		c.Message = "the trees of namespaces are known and kept"
	default:
		c.Reason, c.Message = v1alpha1.ReasonStandsBy, "the trees of namespaces are known; Holdfast stands by, and writes and refuses nothing in them"
	}
	return c
}
