// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// treeText draws trees, and below them what their marks mean.
type treeText struct {
	forest forest
	b      strings.Builder

	// notes are the conditions by number, less one.
	notes         []string
	subnamespaces bool
	// failed says that the trees tell of something that could not be read, and
	// problems are about what stands in them by its name alone, or not at all.
	failed   bool
	problems []string
}

func newTreeText(f forest) *treeText { return &treeText{forest: f} }

// String is everything that was drawn.
func (t *treeText) String() string {
	var b strings.Builder
	b.WriteString(t.b.String())
	if t.subnamespaces {
		b.WriteString("\n[s] indicates subnamespaces\n")
	}
	if len(t.notes) > 0 {
		b.WriteString("\nConditions:\n")
	}
	for i, note := range t.notes {
		fmt.Fprintf(&b, "%d) %s\n", i+1, note)
	}
	return b.String()
}

// add draws the tree below a namespace. Asked for roots only, it passes by what is
// drawn below another.
func (t *treeText) add(name string, onlyRoots bool) {
	m := t.forest[name]
	switch {
	case m.problem == "":
	case onlyRoots && m.gone:
		return // in this very moment
	case onlyRoots:
		t.problems = append(t.problems, m.problem)
		return
	default:
		t.failed = true
		t.b.WriteString(m.problem + "\n")
		return
	}
	// The conditions get their numbers even if the namespace comes later: the
	// numbers are those of HNC's plugin.
	label := t.label(m)
	if onlyRoots && t.below(m) {
		return
	}
	t.b.WriteString(label + "\n")
	t.children("", m, map[string]bool{name: true})
}

// below says whether a namespace is drawn below its parent. One of a cycle has a
// tree of its own, and so has one whose parent does not exist or cannot have it.
func (t *treeText) below(m *member) bool {
	if m.parent == "" || inCycle(m) {
		return false
	}
	parent := t.forest[m.parent]
	return parent != nil && parent.has(m.name)
}

// children draws what is below a namespace. The path is made of those above, and
// ends circles that no condition tells of yet.
func (t *treeText) children(prefix string, m *member, path map[string]bool) {
	shown := slices.DeleteFunc(slices.Clone(m.children), func(name string) bool {
		child := t.forest[name]
		return child.gone || path[name] || inCycle(m) && inCycle(child)
	})
	for i, name := range shown {
		child := t.forest[name]
		branch, below := "├── ", "│   "
		if i == len(shown)-1 {
			branch, below = "└── ", "    "
		}
		label := t.label(child)
		if child.subnamespace {
			t.subnamespaces = true
			label = "[s] " + label
		}
		t.b.WriteString(prefix + branch + label + "\n")
		if child.problem != "" && !slices.Contains(t.problems, child.problem) {
			t.problems = append(t.problems, child.problem)
		}
		path[name] = true
		t.children(prefix+below, child, path)
		delete(path, name)
	}
}

// label is the name of a namespace with the numbers of its conditions.
func (t *treeText) label(m *member) string {
	var numbers []int
	for _, c := range m.conditions {
		note := conditionText(c)
		i := slices.Index(t.notes, note)
		if i < 0 {
			i = len(t.notes)
			t.notes = append(t.notes, note)
		}
		numbers = append(numbers, i+1)
	}
	if len(numbers) == 0 {
		return m.name
	}
	slices.Sort(numbers)
	texts := make([]string, 0, len(numbers))
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(n))
	}
	return m.name + " (" + strings.Join(texts, ",") + ")"
}

func inCycle(m *member) bool {
	return slices.ContainsFunc(m.conditions, func(c metav1.Condition) bool { return c.Reason == hncv1alpha2.ReasonInCycle })
}

// conditionText is a condition as HNC's plugin shows it.
func conditionText(c metav1.Condition) string {
	return c.Type + " (" + c.Reason + "): " + c.Message
}
