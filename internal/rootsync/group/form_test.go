// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func many(n int) []object.ID {
	out := make([]object.ID, n)
	for i := range out {
		out[i] = object.ID{Kind: "ConfigMap", Namespace: "a-namespace-of-usual-length", Name: fmt.Sprintf("a-configmap-of-usual-length-%05d", i)}
	}
	return out
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	if err := tooLarge(many(8000)); err != nil {
		t.Errorf("8000 objects: %v", err)
	}
	var err *knv.Error
	if !errors.As(tooLarge(many(20000)), &err) {
		t.Fatal("20000 objects fit")
	}
	const want = "KNV2009: source repository contains too many resource objects to inventory with a single ResourceGroup: " +
		"20000 objects even without their status do not fit into one object of the API server. " +
		"Split the source over several RootSyncs, or set spec.override.statusMode to disabled."
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	of := func(ids ...object.ID) *unstructured.Unstructured {
		u := empty("shop")
		_ = unstructured.SetNestedSlice(u.Object, resources(ids), "spec", "resources")
		return u
	}
	a, b, c := object.NamespaceID("a"), object.NamespaceID("b"), object.NamespaceID("c")
	if diff := cmp.Diff([]object.ID{c}, added(of(a, b), of(c, b))); diff != "" {
		t.Error(diff)
	}
	if got := added(nil, nil); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestConditions_keepTheirTimes(t *testing.T) {
	t.Parallel()
	first := conditions(nil, true, "t1")
	second := conditions(first, false, "t2")
	var got []string
	for _, c := range conditions(second, false, "t3") {
		c, _ := c.(map[string]any)
		got = append(got, fmt.Sprint(c["type"], c["status"], c["lastTransitionTime"]))
	}
	if diff := cmp.Diff([]string{"ReconcilingFalset2", "StalledFalset1"}, got); diff != "" {
		t.Error(diff)
	}
}
