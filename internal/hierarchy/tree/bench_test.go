// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"fmt"
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

func name(i int) string { return fmt.Sprintf("ns-%04d", i) }

// build makes n namespaces, each below the one that parent says.
func build(n int, parent func(i int) int) []tree.Edit {
	edits := make([]tree.Edit, 0, 2*n)
	for i := range n {
		edits = append(edits, tree.SetNamespace(name(i), &tree.Object{Labels: map[string]string{"app": "shop"}}))
		if i > 0 {
			edits = append(edits, tree.SetConfig(name(i), &hncv1alpha2.HierarchyConfigurationSpec{Parent: name(parent(i))}))
		}
	}
	return edits
}

var shapes = []struct {
	name   string
	parent func(i int) int
}{
	{"wide", func(int) int { return 0 }},
	{"by tens", func(i int) int { return (i - 1) / 10 }},
	{"one chain", func(i int) int { return i - 1 }},
}

// BenchmarkApply_start makes a tree of 2,000 namespaces at once.
func BenchmarkApply_start(b *testing.B) {
	for _, s := range shapes[:2] {
		b.Run(s.name, func(b *testing.B) {
			edits := build(2000, s.parent)
			for b.Loop() {
				(&tree.Tree{}).Apply(edits...)
			}
		})
	}
}

// BenchmarkApply_oneEdit changes one namespace out of 2,000.
func BenchmarkApply_oneEdit(b *testing.B) {
	for _, s := range shapes[:2] {
		now, _ := (&tree.Tree{}).Apply(build(2000, s.parent)...)
		last := name(1999)
		b.Run("label of a leaf/"+s.name, func(b *testing.B) {
			objects := []*tree.Object{{Labels: map[string]string{"app": "a"}}, {Labels: map[string]string{"app": "b"}}}
			for i := 0; b.Loop(); i++ {
				now, _ = now.Apply(tree.SetNamespace(last, objects[i%2]))
			}
		})
		b.Run("parent of a leaf/"+s.name, func(b *testing.B) {
			configs := []*hncv1alpha2.HierarchyConfigurationSpec{{Parent: name(3)}, {Parent: name(4)}}
			for i := 0; b.Loop(); i++ {
				now, _ = now.Apply(tree.SetConfig(last, configs[i%2]))
			}
		})
		b.Run("new child of the root/"+s.name, func(b *testing.B) {
			edits := [][]tree.Edit{
				{tree.SetNamespace("new", &tree.Object{}), tree.SetConfig("new", &hncv1alpha2.HierarchyConfigurationSpec{Parent: name(0)})},
				{tree.SetNamespace("new", nil), tree.SetConfig("new", nil)},
			}
			for i := 0; b.Loop(); i++ {
				now, _ = now.Apply(edits[i%2]...)
			}
		})
	}
}

// BenchmarkApply_moveRoot moves the root of 500 descendants below another one and
// back, so that something follows for each.
func BenchmarkApply_moveRoot(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			now, _ := (&tree.Tree{}).Apply(append(build(501, s.parent), tree.SetNamespace("top", &tree.Object{}))...)
			configs := []*hncv1alpha2.HierarchyConfigurationSpec{{Parent: "top"}, {}}
			for i := 0; b.Loop(); i++ {
				next, changed := now.Apply(tree.SetConfig(name(0), configs[i%2]))
				if now = next; len(changed) != 502 {
					b.Fatalf("%d changed", len(changed))
				}
			}
		})
	}
}

// BenchmarkApply_manyLabels changes one label of a namespace with many, which has ten children.
func BenchmarkApply_manyLabels(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 30_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			now, _ := (&tree.Tree{}).Apply(build(11, func(int) int { return 0 })...)
			objects := make([]*tree.Object, 2)
			for i := range objects {
				objects[i] = &tree.Object{Labels: map[string]string{"turn": fmt.Sprint(i)}}
				for l := range n {
					objects[i].Labels[fmt.Sprintf("example.com/label-%d", l)] = "x"
				}
			}
			for i := 0; b.Loop(); i++ {
				now, _ = now.Apply(tree.SetNamespace(name(0), objects[i%2]))
			}
		})
	}
}
