// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func (h *handover) lookActive(ctx context.Context) (bool, string, error) {
	_, c, err := h.told(ctx)
	if err != nil {
		return false, "", err
	}
	if off(c.Hierarchy.Mode) || c.Hierarchy.StandBy {
		return false, "tell Holdfast to keep the trees", nil
	}
	missing, r, err := h.keeps(ctx)
	if err != nil {
		return false, "", err
	}
	if missing != "" {
		return false, "wait until Holdfast keeps the trees: " + missing, nil
	}
	return true, fmt.Sprintf("Holdfast keeps the trees; %s are in force", r), nil
}

// keeps says what is missing until Holdfast keeps the trees.
func (h *handover) keeps(ctx context.Context) (string, rules, error) {
	s, err := h.status(ctx)
	if err != nil {
		return "", rules{}, err
	}
	if s == nil {
		return "Holdfast has not started yet", rules{}, nil
	}
	if missing := firstOf(
		lacks(s, v1alpha1.ConditionHierarchyAlone, ""),
		lacks(s, v1alpha1.ConditionHierarchyKnown, v1alpha1.ReasonKept),
		lacks(s, v1alpha1.ConditionAdmissionInstalled, ""),
	); missing != "" {
		return missing, rules{}, nil
	}
	r, err := h.rules(ctx)
	if err != nil {
		return "", rules{}, err
	}
	missing, err := h.inForce(ctx, r)
	return missing, r, err
}

// activate has Holdfast take over. How the objects are now is kept first, so that
// what it writes can be told.
func (h *handover) activate(ctx context.Context) (string, error) {
	_, c, err := h.told(ctx)
	if err != nil {
		return "", err
	}
	if off(c.Hierarchy.Mode) || c.Hierarchy.StandBy {
		if err := h.keepBaseline(ctx); err != nil {
			return "", err
		}
	}
	want, err := h.tell(ctx, func(_ context.Context, text string) (string, error) { return active(text) })
	if err != nil {
		return "", err
	}
	h.said.Configuration = want
	if err := h.awaitTaken(ctx, want); err != nil {
		return "", err
	}
	var r rules
	err = h.until(ctx, func(ctx context.Context) (missing string, err error) {
		missing, r, err = h.keeps(ctx)
		return missing, err
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Holdfast keeps the trees; %s are in force", r), nil
}

func (h *handover) keepBaseline(ctx context.Context) error {
	r, err := h.load(ctx)
	if err != nil {
		return err
	}
	l, err := h.lists(ctx)
	if err != nil {
		return err
	}
	if r.Before == nil || !l.since(r.Before).same() {
		r.Before = l.baseline(time.Now())
	}
	return h.keep(ctx, r)
}
