// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Around is the namespace by which a scope decides about an object: the one that it is in,
// or is. It is empty for what no scope bounds: what is in no namespace, and what is in that
// of the RootSyncs, which are Holdfast's own.
func Around(id object.ID) string {
	name := id.Namespace
	if id.IsNamespace() {
		name = id.Name
	}
	if name == object.SyncNamespace {
		return ""
	}
	return name
}

// InScope says whether a RootSync may write an object. Live is the Namespace around it, nil
// where there is none; then a Namespace counts by the labels with which it is declared,
// and what is to be in it waits in any case.
func InScope(s scope.Scope, id object.ID, live metav1.Object, declared map[string]string) bool {
	name := Around(id)
	switch {
	case name == "":
		return true
	case live != nil:
		return s.Matches(name, live.GetLabels())
	case id.IsNamespace():
		return s.Matches(name, declared)
	}
	return s.MatchesName(name)
}
