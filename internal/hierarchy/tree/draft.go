// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"iter"
	"slices"
	"strings"
)

// draft is a Tree in the making: first the edits go in, then finish works out
// what follows.
type draft struct {
	before   *Tree
	settings Settings
	// nodes are those that differ from the Tree before.
	nodes map[string]*node
	// parents are those before the edits, of each namespace whose own may differ.
	parents map[string]string

	// queue has the namespaces to look at, by rank: whoever is above comes first.
	queue  [][]string
	queued map[string]struct{}
	ranks  map[string]int
	// cycles has for each member of a cycle how people read that cycle.
	cycles map[string]string
}

func newDraft(t *Tree) *draft {
	return &draft{
		before: t, settings: t.settings,
		nodes: map[string]*node{}, parents: map[string]string{}, queued: map[string]struct{}{},
		ranks: map[string]int{}, cycles: map[string]string{},
	}
}

var nothing = &node{}

// get returns what is known under a name, to be read.
func (d *draft) get(name string) *node {
	if n, ok := d.nodes[name]; ok {
		return n
	}
	if n, ok := d.before.nodes.Get(name); ok {
		return n
	}
	return nothing
}

// edit returns what is known under a name, to be changed.
func (d *draft) edit(name string) *node {
	if n, ok := d.nodes[name]; ok {
		return n
	}
	n := *d.get(name)
	d.nodes[name] = &n
	return &n
}

// touch notes that a namespace is to be looked at. Its rank is not known before
// all edits are in.
func (d *draft) touch(name string) { d.queued[name] = struct{}{} }

// parentMayChange notes the parent before the first edit.
func (d *draft) parentMayChange(name string) {
	if _, known := d.parents[name]; !known {
		d.parents[name] = d.parent(name)
	}
}

// parent is the one that a managed namespace says it has.
func (d *draft) parent(name string) string {
	if !d.settings.managed(name) {
		return ""
	}
	return d.get(name).parent()
}

func (d *draft) setNamespace(name string, o *Object) {
	d.parentMayChange(name)
	n := d.edit(name)
	n.object = o
	d.touch(name)
	for _, p := range n.anchoredIn {
		d.touch(p)
	}
}

func (d *draft) setConfig(namespace string, c *config) {
	d.parentMayChange(namespace)
	d.edit(namespace).config = c
	d.touch(namespace)
}

func (d *draft) setAnchor(namespace, name string, a *anchorSpec) {
	in, of := d.edit(namespace), d.edit(name)
	if a == nil {
		in.anchors, of.anchoredIn = withoutAnchor(in.anchors, name), withoutName(of.anchoredIn, namespace)
	} else {
		in.anchors, of.anchoredIn = withAnchor(in.anchors, anchor{name, a}), withName(of.anchoredIn, namespace)
	}
	d.touch(namespace)
	d.touch(name)
}

func (d *draft) setSettings(s Settings) {
	for name := range d.before.nodes.All() {
		d.parentMayChange(name)
		d.touch(name)
	}
	for name := range d.nodes {
		d.parentMayChange(name)
		d.touch(name)
	}
	d.settings = s
}

// relink brings the lists of children up to date.
func (d *draft) relink() {
	type moves struct{ join, leave []string }
	of := map[string]moves{}
	for name, before := range d.parents {
		after := d.parent(name)
		if before == after {
			continue
		}
		if before != "" {
			m := of[before]
			m.leave = append(m.leave, name)
			of[before] = m
		}
		if after != "" {
			m := of[after]
			m.join = append(m.join, name)
			of[after] = m
		}
	}
	for parent, m := range of {
		n := d.edit(parent)
		n.children = rearranged(n.children, m.join, m.leave)
		d.touch(parent)
	}
}

func (d *draft) finish() (after *Tree, changed []string) {
	d.relink()
	for name := range d.queued {
		d.enqueue(name)
	}
	for rank := 0; rank < len(d.queue); rank++ {
		for i := 0; i < len(d.queue[rank]); i++ { // grows meanwhile
			if name := d.queue[rank][i]; d.follow(name) {
				changed = append(changed, name)
			}
		}
	}
	slices.Sort(changed)
	return &Tree{settings: d.settings, nodes: d.before.nodes.Change(d.edits())}, changed
}

func (d *draft) edits() iter.Seq2[string, **node] {
	return func(yield func(string, **node) bool) {
		for name, n := range d.nodes {
			v := &n
			if n.empty() {
				v = nil
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

func (d *draft) enqueue(name string) {
	rank := d.rank(name)
	for len(d.queue) <= rank {
		d.queue = append(d.queue, nil)
	}
	d.queue[rank] = append(d.queue[rank], name)
}

// follow works out what follows for a namespace, and says whether that differs.
// If what it hands down differs, its children are next.
func (d *draft) follow(name string) (changed bool) {
	n := d.get(name)
	l := d.line(name, n)
	o := d.outcome(name, n, l)
	if same := o.equal(n.outcome); same {
		o = n.outcome
	} else {
		changed = true
	}
	if l == n.line && !changed {
		return false
	}
	handsDown := l != n.line
	n = d.edit(name)
	n.line, n.outcome = l, o
	if handsDown {
		for _, c := range n.children {
			if _, again := d.queued[c]; !again {
				d.touch(c)
				d.enqueue(c)
			}
		}
	}
	return changed
}

// up is the parent of a namespace if its place below that parent can be told.
func (d *draft) up(name string) string {
	p := d.parent(name)
	if p == "" || !d.settings.managed(p) || d.get(p).object == nil {
		return ""
	}
	return p
}

// rank is how many namespaces stand above one, up to a root or a broken one; 0
// for a member of a cycle. It finds the cycles.
func (d *draft) rank(name string) int {
	var path []string
	at := map[string]int{}
	rank := -1
	for cur := name; cur != ""; cur = d.up(cur) {
		if known, ok := d.ranks[cur]; ok {
			rank = known
			break
		}
		if start, again := at[cur]; again {
			d.cycle(path[start:])
			rank, path = 0, path[:start]
			break
		}
		at[cur] = len(path)
		path = append(path, cur)
	}
	for _, n := range slices.Backward(path) {
		rank++
		d.ranks[n] = rank
	}
	return d.ranks[name]
}

// cycle notes a cycle, of which each member is followed by its parent.
func (d *draft) cycle(members []string) {
	text := describeCycle(members)
	for _, m := range members {
		d.ranks[m], d.cycles[m] = 0, text
	}
}

// describeCycle says who is below whom, beginning with the name that comes first.
func describeCycle(members []string) string {
	down := slices.Clone(members)
	slices.Reverse(down)
	first := slices.Index(down, slices.Min(down))
	return strings.Join(slices.Concat(down[first:], down[:first+1]), " <- ")
}
