// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// FieldManager owns the annotation.
const FieldManager = "holdfast-claims"

// Change is what one claimant, or several, want of the claims on a namespace.
type Change struct {
	// Claim is made, or takes the place of what its claimant claimed before.
	Claim []Claim
	// Release are claimants that claim no longer. Whoever releases a claim takes the
	// marks of the claimant off with the same write.
	Release []string
}

// Write is what a change writes on a namespace.
type Write struct {
	// Annotation is the new value; empty takes the annotation away.
	Annotation string

	uid     types.UID
	version string
}

// Rewrite says what a change writes on the Namespace that was read; nil if nothing.
// What a mark says already is not written while nothing else is, and an implicit
// claim is not where it would not count. An annotation that is not bound to this
// Namespace has no effect, and goes. Now is the time of marks that came after
// the last write. An annotation that cannot be read is an *InvalidError, and stays.
func Rewrite(o metav1.Object, change Change, now time.Time) (*Write, error) {
	written, err := read(o)
	if err != nil {
		return nil, err
	}
	marks := slices.DeleteFunc(Marks(o), func(c Claim) bool { return slices.Contains(change.Release, c.Claimant) })
	next, changed := apply(written, marks, change, now)
	stale := o.GetAnnotations()[v1alpha1.ClaimsAnnotation] != "" && !Written(o)
	if !changed && !stale {
		return nil, nil //nolint:nilnil // nothing to write is an answer
	}
	text := next.String()
	if _, err := Parse(text); err != nil {
		return nil, fmt.Errorf("claims on namespace %s cannot be written: %w", o.GetName(), err)
	}
	if text = binding(o.GetUID()) + text; sameWithout(next, marks) {
		text = ""
	}
	if text == o.GetAnnotations()[v1alpha1.ClaimsAnnotation] {
		return nil, nil //nolint:nilnil // nothing to write is an answer
	}
	return &Write{Annotation: text, uid: o.GetUID(), version: o.GetResourceVersion()}, nil
}

// apply makes a change and says whether it is one.
func apply(written Claims, marks []Claim, change Change, now time.Time) (next Claims, changed bool) {
	next = settled(written, marks, now)
	for _, claimant := range change.Release {
		if _, there := written.Of(claimant); there {
			next, changed = next.Without(claimant), true
		}
	}
	var known []Claim
	for _, c := range change.Claim {
		switch before, there := next.Of(c.Claimant); {
		case c.How == Implicit && next.found:
			// It counts for nothing, and must not stand where it once counted for more.
			if _, there := written.Of(c.Claimant); there {
				next, changed = next.Without(c.Claimant), true
			}
		case there && before.How == c.How && (before.Since.Equal(c.Since) || len(written.list) == 0):
			known = append(known, c)
		default:
			next, changed = next.With(c), true
		}
	}
	for _, c := range known { // of what a mark says there is more to write, if anything is
		next = next.With(c)
	}
	return next, changed
}

// settled are the claims that are to be written if anything is.
func settled(written Claims, marks []Claim, now time.Time) Claims {
	out := Claims{found: isFound(written, marks)}
	for _, s := range standing(written, marks) {
		if s.late {
			s.Claim = At(s.How, s.Claimant, now)
		}
		out = out.With(s.Claim)
	}
	return out
}

// sameWithout says whether marks alone would tell the same as claims.
func sameWithout(claims Claims, marks []Claim) bool {
	with, without := Owner(claims, marks), Owner(Claims{}, marks)
	return with.Found == without.Found && slices.EqualFunc(with.Claims, without.Claims, func(a, b Claim) bool {
		return a.How == b.How && a.Claimant == b.Claimant
	})
}

// MergePatch writes nothing but the annotation, and only to the very Namespace
// that was read: if that has changed since, it is a conflict, and the change is
// to be asked for again.
func (w *Write) MergePatch() ([]byte, error) {
	var value any // null takes it away
	if w.Annotation != "" {
		value = w.Annotation
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             w.uid,
		"resourceVersion": w.version,
		"annotations":     map[string]any{v1alpha1.ClaimsAnnotation: value},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode claims: %w", err)
	}
	return body, nil
}
