// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package treetest makes trees of namespaces from short strings. For tests only.
package treetest

import (
	"fmt"
	"strings"
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Make makes a tree from a string of chains, separated by commas, in which "<-"
// stands between a parent and its child: "a <- b <- c, a <- *d". A mark before a
// name, where it first stands or later, says more about that namespace:
//
//	*d   a subnamespace: annotated with its parent, which has an anchor for it
//	/d   a subnamespace whose anchor is missing
//	@d   the parent has an anchor for it, and that is all; it is not below it
//	?z   it does not exist; what is below it is an orphan
//	!x   it is excluded
//	~e   it is external
//	+a   it allows cascading deletion
//	-a   it is being deleted
//
// Edits come on top, in the same step.
func Make(t testing.TB, text string, more ...tree.Edit) *tree.Tree {
	t.Helper()
	made, err := parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	out, _ := tree.New(made.settings()).Apply(append(made.edits(), more...)...)
	return out
}

// Edits are those that make a tree of the string in one that has other namespaces
// already. Exclusion is not among them.
func Edits(t testing.TB, text string) []tree.Edit {
	t.Helper()
	made, err := parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return made.edits()
}

type namespace struct {
	parent, marks string
	anchoredIn    []string
}

type forest map[string]*namespace

const marks = "*/@?!~+-"

func parse(text string) (forest, error) {
	f := forest{}
	for chain := range strings.SplitSeq(text, ",") {
		parent := ""
		for word := range strings.SplitSeq(chain, "<-") {
			word = strings.TrimSpace(word)
			name := strings.TrimLeft(word, marks)
			if name == "" {
				return nil, fmt.Errorf("no name in %q", chain)
			}
			n := f[name]
			if n == nil {
				n = &namespace{}
				f[name] = n
			}
			said := strings.TrimSuffix(word, name)
			n.marks += said
			if parent != "" && strings.ContainsAny(said, "*@") {
				n.anchoredIn = append(n.anchoredIn, parent)
			}
			if parent != "" && !strings.Contains(said, "@") {
				n.parent = parent
			}
			parent = name
		}
	}
	return f, nil
}

func (n *namespace) is(mark string) bool { return strings.Contains(n.marks, mark) }

func (f forest) settings() tree.Settings {
	excluded := map[string]bool{}
	for name, n := range f {
		excluded[name] = n.is("!")
	}
	return tree.Settings{
		Managed:  func(name string) bool { return !excluded[name] },
		Reserved: func(name string) bool { return strings.HasSuffix(name, "-system") },
	}
}

func (f forest) edits() []tree.Edit {
	var out []tree.Edit
	for name, n := range f {
		for _, p := range n.anchoredIn {
			out = append(out, tree.SetAnchor(p, name, &hncv1alpha2.SubnamespaceAnchorSpec{}))
		}
		if n.is("?") {
			continue
		}
		o := &tree.Object{Annotations: map[string]string{}, Terminating: n.is("-")}
		c := &hncv1alpha2.HierarchyConfigurationSpec{AllowCascadingDeletion: n.is("+")}
		if n.is("~") {
			o.Annotations[hncv1alpha2.AnnotationManagedBy] = "somebody"
		}
		if sub := n.is("*") || n.is("/"); sub {
			o.Annotations[hncv1alpha2.AnnotationSubnamespaceOf] = n.parent
		} else {
			c.Parent = n.parent
		}
		out = append(out, tree.SetNamespace(name, o))
		if c.Parent != "" || c.AllowCascadingDeletion {
			out = append(out, tree.SetConfig(name, c))
		}
	}
	return out
}
