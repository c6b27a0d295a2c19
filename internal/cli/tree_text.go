// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// firstFew is how many objects of a kind are shown, unless all are asked for.
const firstFew = 3

// branch is a line of a tree, and what hangs below it.
type branch struct {
	text string
	// end says what becomes of it.
	end      string
	style    ui.Style
	branches []branch
}

// branches are the tree of what hangs below an object.
func (b below) branches(all bool) []branch {
	var out []branch
	if b.Relation == relationDependents {
		out = dependentBranches(b.Items, "", all)
	} else {
		for _, group := range byResource(b.Items) {
			out = append(out, groupBranch(group, b.Relation, all))
		}
	}
	return append(out, b.rest()...)
}

// rest says what was not shown or not looked at.
func (b below) rest() []branch {
	var out []branch
	switch {
	case b.Relation == relationContents && b.Others == nil:
		out = append(out, branch{text: "everything else in it would be deleted"})
	case b.Others != nil && *b.Others > 0:
		out = append(out, branch{text: fmt.Sprintf("%d not protected would be deleted", *b.Others)})
	}
	if len(b.NotLookedAt) > 0 {
		out = append(out, branch{text: "not looked at, because extension API servers serve them: " + strings.Join(b.NotLookedAt, ", "), style: ui.Warn})
	}
	for _, problem := range b.Problems {
		out = append(out, branch{text: "not fully known: " + problem, style: ui.Warn})
	}
	return out
}

// groupBranch is the objects of one kind.
func groupBranch(nodes []node, r relation, all bool) branch {
	shown, more := someOf(nodes, all)
	out := branch{text: resourceOf(nodes[0]) + ": " + countText(nodes)}
	for _, n := range shown {
		name := ui.Name(n.Name)
		if r == relationInstances && n.Namespace != "" {
			name = n.Namespace + "/" + name
		}
		out.branches = append(out.branches, n.branch(name))
	}
	out.branches = append(out.branches, more...)
	return out
}

// countText says how many objects of a kind are protected, hold something that
// is, or neither.
func countText(nodes []node) string {
	protected, holding := countProtected(nodes), 0
	for _, n := range nodes {
		if !n.Protected && n.Fate == fateRefused {
			holding++
		}
	}
	var parts []string
	if protected > 0 {
		parts = append(parts, fmt.Sprintf("%d protected", protected))
	}
	if holding > 0 {
		parts = append(parts, fmt.Sprintf("%d with something protected below", holding))
	}
	if others := len(nodes) - protected - holding; others > 0 {
		parts = append(parts, fmt.Sprintf("%d not protected", others))
	}
	return strings.Join(parts, ", ")
}

// dependentBranches are the objects that an object in a namespace owns.
func dependentBranches(nodes []node, parent string, all bool) []branch {
	var out []branch
	for _, group := range byResource(nodes) {
		shown, more := someOf(group, all)
		for _, n := range shown {
			name := resourceOf(n) + "/" + ui.Name(n.Name)
			if parent == "" && n.Namespace != "" && n.Namespace != nodes[0].Namespace {
				name = n.Namespace + "/" + name
			}
			b := n.branch(name)
			b.branches = dependentBranches(n.Below, n.Namespace, all)
			out = append(out, b)
		}
		out = append(out, more...)
	}
	return out
}

// someOf are the first few of the objects of a kind, protected ones first, and a
// line about the rest.
func someOf(nodes []node, all bool) (shown []node, more []branch) {
	if all || len(nodes) <= firstFew+1 { // one more takes no more space than saying so
		return nodes, nil
	}
	inOrder := slices.Clone(nodes)
	slices.SortStableFunc(inOrder, func(a, b node) int { return a.rank() - b.rank() })
	rest := inOrder[firstFew:]
	text := fmt.Sprintf("and %d more %s", len(rest), resourceOf(rest[0]))
	if protected := countProtected(rest); protected > 0 {
		text += fmt.Sprintf(", %d of them protected", protected)
	}
	return inOrder[:firstFew], []branch{{text: text + " (--all shows them)"}}
}

// rank puts what people look for first.
func (n node) rank() int {
	switch {
	case n.Protected:
		return 0
	case n.Fate != fateDeleted, countProtected(n.Below) > 0:
		return 1
	}
	return 2
}

func (n node) branch(name string) branch {
	b := branch{text: name}
	why := strings.Join(n.Because, "; ")
	switch n.Fate {
	case fateRefused:
		b.end, b.style = "refused: "+why, ui.Good
	case fateStays:
		b.end, b.style = "stays: "+why, ui.Good
	case fateLost:
		with := "an instance goes with its definition"
		if n.Resource == volumesKind.Resource {
			with = "a volume goes with its claim"
		}
		b.end, b.style = "would be lost, although "+why+": nothing is asked when "+with, ui.Bad
	case fateDeleted:
		b.end = "would be deleted"
		if why != "" {
			b.end += ": it " + why
		}
	}
	return b
}

func resourceOf(n node) string {
	return schema.GroupResource{Group: n.Group, Resource: n.Resource}.String()
}

// byResource takes ordered nodes apart by their kinds.
func byResource(nodes []node) [][]node {
	var out [][]node
	for i, n := range nodes {
		if i == 0 || resourceOf(nodes[i-1]) != resourceOf(n) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], n)
	}
	return out
}

// printTree draws branches below a root.
func (c *clients) printTree(indent string, branches []branch) {
	for i, b := range branches {
		fork, under := "├─ ", "│  "
		if i == len(branches)-1 {
			fork, under = "└─ ", "   "
		}
		if b.end == "" {
			c.Printf("%s%s\n", indent+fork, c.Paint(b.style, b.text))
		} else {
			c.Printf("%s%s  %s\n", indent+fork, b.text, c.Paint(b.style, b.end))
		}
		c.printTree(indent+under, b.branches)
	}
}
