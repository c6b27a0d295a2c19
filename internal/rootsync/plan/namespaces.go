// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// few namespaces may go all at once: whoever has but one may well mean it.
const few = 1

// KeepNamespaces refuses a commit that would take all namespaces away at once: that is
// a wrong folder or an empty branch far more often than it is meant. The former ones
// come from the inventory, so the answer is the same after a restart.
func KeepNamespaces(former []object.ID, now []object.Declared) *knv.Error {
	if slices.ContainsFunc(now, func(d object.Declared) bool { return d.ID().IsNamespace() }) {
		return nil
	}
	var names []string
	for _, id := range former {
		if id.IsNamespace() {
			names = append(names, id.Name)
		}
	}
	if len(names) <= few {
		return nil
	}
	slices.Sort(names)
	return knv.New(knv.EmptySource,
		"New commit would delete all Namespaces [%s]. If this is not a mistake, follow directions for safely deleting all Namespaces.", strings.Join(names, " "))
}

// StillInUse says why a Namespace, or a CustomResourceDefinition, must not go: the
// RootSync itself has objects in it that it goes on declaring, or others use it, who are
// named. It is empty if it may go.
func StillInUse(id object.ID, own bool, others []string) string {
	text := "namespace still in use: " + id.Name
	if !id.IsNamespace() {
		text = "kind still in use: " + id.Name
	}
	if len(others) > 0 {
		return text + ", by " + strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", ")
	}
	if own {
		return text
	}
	return ""
}
