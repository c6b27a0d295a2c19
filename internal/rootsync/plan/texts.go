// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Why says why an object is skipped that needs another, or that another needs.
type Why string

// The reasons, with the texts of Config Sync.
const (
	ApplyFailed      Why = "dependency apply actuation failed"
	ApplySkipped     Why = "dependency apply actuation skipped"
	ReconcileFailed  Why = "dependency apply reconcile failed"
	ReconcileTimeout Why = "dependency apply reconcile timeout"
	StillDeclared    Why = "dependent scheduled for apply"
	DeleteFailed     Why = "dependent delete actuation failed"
	DeleteSkipped    Why = "dependent delete actuation skipped"
	DeleteTimeout    Why = "dependent delete reconcile timeout"
)

// Because is a reason with the object that is the cause.
func (w Why) Because(of object.ID) string { return string(w) + ": " + key(of) }

// SkippedApply is the text of the error about an object that is not applied.
func SkippedApply(id object.ID, reason string) string {
	return fmt.Sprintf("skipped apply of %s: %s", id, reason)
}

// SkippedDelete is the text of the error about an object that does not go.
func SkippedDelete(id object.ID, reason string) string {
	return fmt.Sprintf("skipped delete of %s: %s", id, reason)
}

// mostNamed is how many workloads a text names.
const mostNamed = 3

// Occupied says that a Namespace stays because of what somebody runs in it.
func Occupied(id object.ID, workloads []string) string {
	if n := len(workloads) - mostNamed; n > 0 {
		workloads = append(slices.Clone(workloads[:mostNamed]), fmt.Sprintf("and %d more", n))
	}
	return StillInUse(id, false, []string{strings.Join(workloads, ", ") + ", which no RootSync has"})
}
