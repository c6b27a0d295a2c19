// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// TestSources_areIndexedAsTheyStand adds and takes away at random, and looks for
// each key in each namespace as if there were no index.
func TestSources_areIndexedAsTheyStand(t *testing.T) {
	t.Parallel()
	made := treetest.Make(t, "a <- b <- c, b <- d, a <- e, ?z <- o <- p")
	r := Rules{}
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 3))
		s, plain := NewSources(r), map[place]*Source{}
		for range 80 {
			namespace := made.Names()[dice.IntN(len(made.Names()))]
			o := object(role, []string{"treeSelect=", "treeSelect=!c", "none=true", "select=a b"}[dice.IntN(4)])
			o.Namespace, o.Name = namespace, fmt.Sprint("x", dice.IntN(3))
			at := place{namespace, o.Name}
			before, was := s, copies(s, made, Key{role, "x0"})
			if dice.IntN(3) == 0 {
				s = s.Without(Key{role, o.Name}, namespace)
				delete(plain, at)
			} else {
				plain[at] = r.NewSource(o)
				s = s.With(plain[at])
			}
			if copies(before, made, Key{role, "x0"}) != was {
				t.Fatal("the Sources before changed")
			}
			compare(t, made, s, plain)
		}
	}
}

// place is where a source is.
type place struct{ namespace, name string }

func compare(t *testing.T, made *tree.Tree, s *Sources, plain map[place]*Source) {
	t.Helper()
	for _, namespace := range made.Names() {
		var in, into []Key
		for _, name := range []string{"x0", "x1", "x2"} {
			var want *Source
			above := false
			for _, a := range made.Ancestors(namespace) {
				p := plain[place{a, name}]
				above = above || p != nil
				if p != nil && p.Eligible(hncv1alpha2.ModePropagate, made.Get(namespace).Labels) {
					want = p
				}
			}
			if made.Get(namespace).Halted() {
				want = nil
			}
			if above {
				into = append(into, Key{role, name})
			}
			if plain[place{namespace, name}] != nil {
				in = append(in, Key{role, name})
			}
			if got := s.Decide(made, Key{role, name}, namespace, noRoles).Source; got != want {
				t.Fatalf("the source of %s in %s is %v, want %v", name, namespace, got, want)
			}
			if got := s.Get(Key{role, name}, namespace); got != plain[place{namespace, name}] {
				t.Fatalf("%s in %s is %v", name, namespace, got)
			}
		}
		if diff := cmp.Diff(in, s.In(namespace)); diff != "" {
			t.Fatalf("in %s (-want +got):\n%s", namespace, diff)
		}
		if diff := cmp.Diff(into, s.Into(made, namespace)); diff != "" {
			t.Fatalf("into %s (-want +got):\n%s", namespace, diff)
		}
	}
}

// large has a root with 100 sources and 500 children.
func large(r Rules) (*tree.Tree, *Sources) {
	s := NewSources(r)
	for i := range 100 {
		o := object(role)
		o.Namespace, o.Name = "root", fmt.Sprint("role-", i)
		s = s.With(r.NewSource(o))
	}
	edits := []tree.Edit{tree.SetNamespace("root", &tree.Object{})}
	for i := range 500 {
		name := fmt.Sprint("ns-", i)
		edits = append(edits, tree.SetNamespace(name, &tree.Object{}),
			tree.SetConfig(name, &hncv1alpha2.HierarchyConfigurationSpec{Parent: "root"}))
	}
	made, _ := (&tree.Tree{}).Apply(edits...)
	return made, s
}

// BenchmarkNewChild decides on what comes into one new child of a root with 100
// sources and 500 descendants.
func BenchmarkNewChild(b *testing.B) {
	base, s := large(Rules{})
	for b.Loop() {
		now, changed := base.Apply(tree.SetNamespace("new", &tree.Object{}), tree.SetConfig("new", &hncv1alpha2.HierarchyConfigurationSpec{Parent: "root"}))
		if len(changed) != 2 {
			b.Fatal(changed)
		}
		decided := 0
		for _, k := range s.Into(now, "new") {
			if s.Decide(now, k, "new", noRoles).Action == Copy {
				decided++
			}
		}
		if decided != 100 {
			b.Fatal(decided)
		}
	}
}

// BenchmarkOneSource decides on the 500 copies of one source among 100.
func BenchmarkOneSource(b *testing.B) {
	r := Rules{}
	base, s := large(r)
	for b.Loop() {
		o := object(role, "treeSelect=!ns-3")
		o.Namespace, o.Name = "root", "role-7"
		now, copied := s.With(r.NewSource(o)), 0
		for _, name := range base.Descendants("root") {
			if now.Decide(base, Key{role, "role-7"}, name, noRoles).Action == Copy {
				copied++
			}
		}
		if copied != 499 {
			b.Fatal(copied)
		}
	}
}
