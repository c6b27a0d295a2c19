// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// Texts of refusals that policies give too, so that they are the same with Holdfast
// up and down.
const (
	TextCopyMade    = "the label %s cannot be set: it is of copies only"
	TextCopyDeleted = "this is a copy; delete what it was copied from, in the namespace %q"
	TextCopyLabel   = "the label %s cannot be changed"
	TextCopyChanged = "this is a copy; change what it was copied from, in the namespace %q"

	TextNotIncluded = "the namespace %q is not managed, so it cannot have the label %s"
	TextIncluded    = "the namespace %q is managed, so the label %s must be \"true\""
	TextNotExcluded = "the namespace %q is not in the list of those that are excluded, so it cannot have the label %s"
	TextTreeLabels  = "labels that say where a namespace stands cannot be changed: %s"
	TextExternal    = "%q has the parent %q, so it cannot be managed by somebody else"
)
