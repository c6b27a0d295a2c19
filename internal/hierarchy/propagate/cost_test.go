// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// To find the source of one copy HNC looked at every source of the kind in every
// ancestor. What is allocated is counted for the whole process: this runs alone.
func TestWeakPoint15_findingTheSourceOfACopyLooksAtNoOther(t *testing.T) {
	secret := schema.GroupKind{Kind: "Secret"}
	in := treetest.Make(t, "a <- b <- c")
	cost := func(others int) float64 {
		rules := propagate.Rules{Modes: map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: hncv1alpha2.ModePropagate}}
		s := propagate.NewSources(rules)
		for i := range others {
			for _, ns := range []string{"a", "b"} {
				s = s.With(rules.NewSource(propagate.Object{Kind: secret, Namespace: ns, Name: fmt.Sprint("other-", i)}))
			}
		}
		s = s.With(rules.NewSource(propagate.Object{Kind: secret, Namespace: "a", Name: "x"}))
		return testing.AllocsPerRun(100, func() {
			if v := s.Decide(in, propagate.Key{Kind: secret, Name: "x"}, "c", nil); v.Action != propagate.Copy {
				t.Fatalf("got %v", v)
			}
		})
	}
	if few, many := cost(10), cost(10_000); many > few {
		t.Errorf("%v allocations beside 10,000 other sources, %v beside 10", many, few)
	}
}
