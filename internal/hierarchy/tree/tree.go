// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"iter"
	"maps"
	"slices"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/snapshot"
)

// Tree is all namespaces as they stood at one moment. It never changes and is
// safe for concurrent use. The zero Tree has no namespaces and manages all.
type Tree struct {
	settings Settings
	nodes    snapshot.Table[*node]
}

// New makes a Tree without namespaces.
func New(s Settings) *Tree { return &Tree{settings: s} }

// Edit is one thing that is now different. What it is given must not change any
// more.
type Edit func(*draft)

// SetNamespace says what a namespace is now; nil says that it does not exist.
func SetNamespace(name string, o *Object) Edit {
	return func(d *draft) { d.setNamespace(name, o) }
}

// SetConfig says what the HierarchyConfiguration in a namespace says now; nil if
// there is none.
func SetConfig(namespace string, c *hncv1alpha2.HierarchyConfigurationSpec) Edit {
	return func(d *draft) { d.setConfig(namespace, c) }
}

// SetAnchor says what an anchor in a namespace says now; nil if there is none of
// the name.
func SetAnchor(namespace, name string, a *hncv1alpha2.SubnamespaceAnchorSpec) Edit {
	return func(d *draft) { d.setAnchor(namespace, name, a) }
}

// SetSettings replaces the Settings, at the cost of looking at everything.
func SetSettings(s Settings) Edit {
	return func(d *draft) { d.setSettings(s) }
}

// Apply makes the Tree after edits, and says, in order, for which namespaces
// something else follows now, those that came or went among them. Many edits at
// once cost less than one after the other, and end in the same Tree.
func (t *Tree) Apply(edits ...Edit) (after *Tree, changed []string) {
	d := newDraft(t)
	for _, edit := range edits {
		edit(d)
	}
	return d.finish()
}

// Settings are those in force.
func (t *Tree) Settings() Settings { return t.settings }

// Get returns what follows for a namespace, or nil if it does not exist.
func (t *Tree) Get(name string) *Outcome {
	if n, ok := t.nodes.Get(name); ok {
		return n.outcome
	}
	return nil
}

// Names are those of all namespaces that exist, in order.
func (t *Tree) Names() []string {
	var out []string
	for name, n := range t.nodes.All() {
		if n.object != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Ancestors are the namespaces above one, the nearest first. They end at a root,
// or at a broken namespace; a broken one has none.
func (t *Tree) Ancestors(name string) []string {
	n, ok := t.nodes.Get(name)
	if !ok || n.line == nil {
		return nil
	}
	var out []string
	for l := n.line.up; l != nil; l = l.up {
		out = append(out, l.name)
	}
	return out
}

// Root is the last of the ancestors, or the namespace itself if it has none.
func (t *Tree) Root(name string) string {
	if above := t.Ancestors(name); len(above) > 0 {
		return above[len(above)-1]
	}
	return name
}

// IsAncestor says whether one of the ancestors of a namespace is the other.
func (t *Tree) IsAncestor(ancestor, name string) bool {
	n, ok := t.nodes.Get(name)
	if !ok || n.line == nil {
		return false
	}
	for l := n.line.up; l != nil; l = l.up {
		if l.name == ancestor {
			return true
		}
	}
	return false
}

// Descendants are all namespaces below one, in the order of their names. In a
// cycle every member is below every other and below itself; the namespace that is
// asked about is left out all the same.
func (t *Tree) Descendants(name string) []string {
	seen := map[string]struct{}{name: {}}
	next := []string{name}
	for len(next) > 0 {
		o := t.Get(next[len(next)-1])
		next = next[:len(next)-1]
		if o == nil {
			continue
		}
		for _, c := range o.Children {
			if _, again := seen[c]; !again {
				seen[c] = struct{}{}
				next = append(next, c)
			}
		}
	}
	delete(seen, name)
	return slices.Sorted(maps.Keys(seen))
}

// HasAnchor says whether there is an anchor of the name in a namespace.
func (t *Tree) HasAnchor(namespace, name string) bool {
	n, ok := t.nodes.Get(namespace)
	if !ok {
		return false
	}
	_, found := findAnchor(n.anchors, name)
	return found
}

// Orphans returns, in order, the namespaces whose parent has a name that no namespace has.
func (t *Tree) Orphans(name string) []string {
	n, ok := t.nodes.Get(name)
	if !ok || n.object != nil {
		return nil
	}
	return n.children
}

// AnchoredIn are the namespaces with an anchor of the name, in order.
func (t *Tree) AnchoredIn(name string) []string {
	n, ok := t.nodes.Get(name)
	if !ok {
		return nil
	}
	return n.anchoredIn
}

// All is every namespace that exists with what follows for it, in no order.
func (t *Tree) All() iter.Seq2[string, *Outcome] {
	return func(yield func(string, *Outcome) bool) {
		for name, n := range t.nodes.All() {
			if n.outcome != nil && !yield(name, n.outcome) {
				return
			}
		}
	}
}
