// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// What is refused counts for a namespace only where it was applied before.
func TestInput_whatIsRefused(t *testing.T) {
	t.Parallel()
	of := func(kind, namespace, name string) object.Declared {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("v1")
		u.SetKind(kind)
		u.SetNamespace(namespace)
		u.SetName(name)
		return object.Declared{Object: u}
	}
	had, never := of("ConfigMap", "a", "x"), of("ConfigMap", "b", "x")
	in := &Input{Refused: []object.Declared{had, never, of("Namespace", "", "c")}, Inventory: []object.ID{had.ID()}}
	w := in.wants()
	if diff := cmp.Diff([]string{"a"}, w.Needed); diff != "" || len(w.Declared) > 0 {
		t.Error(diff, w.Declared)
	}
	if !in.refuses(never.ID()) || in.refuses(object.NamespaceID("a")) {
		t.Error("it does not know what is refused")
	}
}
