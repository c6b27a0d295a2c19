// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// brief says of each namespace what is not empty, in a line of its own.
func brief(t *tree.Tree) string {
	var lines []string
	for _, name := range t.Names() {
		o := t.Get(name)
		words := []string{name + ":"}
		add := func(yes bool, format string, args ...any) {
			if yes {
				words = append(words, fmt.Sprintf(format, args...))
			}
		}
		add(!o.Managed, "unmanaged")
		add(o.External, "external")
		add(o.Subnamespace, "sub")
		add(o.Parent != "", "below %s", o.Parent)
		add(len(o.Children) > 0, "above %s", strings.Join(o.Children, "+"))
		add(o.AllowCascadingDeletion, "cascades")
		for _, c := range o.Conditions {
			words = append(words, c.Reason)
		}
		for _, a := range slices.Sorted(maps.Keys(o.Anchors)) {
			add(true, "anchor %s %s", a, o.Anchors[a])
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

func lines(l ...string) string { return strings.Join(l, "\n") }

func TestTree_saysWhatFollows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tree string
		want string
	}{
		{"a namespace alone", "a", lines("a:")},
		{"parents and children", "a <- b <- c, a <- d", lines("a: above b+d", "b: below a above c", "c: below b", "d: below a")},
		{"a subnamespace with its anchor", "a <- *b", lines("a: above b anchor b Ok", "b: sub below a")},
		{"a subnamespace whose anchor is missing", "a <- /b", lines("a: above b", "b: sub below a SubnamespaceAnchorMissing")},
		{"an anchor whose namespace is not there yet", "a <- *?b, a <- *c", lines("a: above c anchor b Missing anchor c Ok", "c: sub below a")},
		{"an orphan, and one below it", "?z <- b <- c", lines("b: below z above c ParentMissing", "c: below b AncestorHaltActivities")},
		{"an excluded parent", "!x <- b <- c", lines("b: below x above c IllegalParent", "c: below b AncestorHaltActivities", "x: unmanaged")},
		{"an excluded parent that does not exist", "?!x <- b", lines("b: below x IllegalParent")},
		{"an excluded child is nobody's child", "a <- !x", lines("a:", "x: unmanaged")},
		{
			"an anchor with an excluded name", "a <- *!x, a <- b",
			lines("a: above b anchor x Forbidden", "b: below a", "x: unmanaged"),
		},
		{
			"an anchor in an excluded namespace", "!x <- *b",
			lines("b: sub below x IllegalParent SubnamespaceAnchorMissing", "x: unmanaged anchor b Forbidden"),
		},
		{"an anchor with a reserved name", "a <- *?x-system, a <- b", lines("a: above b anchor x-system Forbidden", "b: below a")},
		{"an anchor whose subnamespace was made before its name was reserved", "a <- *x-system", lines("a: above x-system anchor x-system Ok", "x-system: sub below a")},
		{"its own parent", "a <- a", lines("a: below a above a InCycle")},
		{
			"a cycle, and one below it", "b <- a <- c <- b, c <- d",
			lines("a: below b above c InCycle", "b: below c above a InCycle", "c: below a above b+d InCycle", "d: below c AncestorHaltActivities"),
		},
		{"an external namespace has no parent", "a <- ~e <- b", lines("a:", "b: below e", "e: external above b")},
		{"an external namespace is no subnamespace", "a <- *~e", lines("a: anchor e Ok", "e: external")},
		{"cascading deletion is inherited", "a <- +b <- c <- d", lines("a: above b", "b: below a above c cascades", "c: below b above d cascades", "d: below c cascades")},
		{
			"a broken namespace inherits no right to cascade", "+a <- b <- a",
			lines("a: below b above b cascades InCycle", "b: below a above a InCycle"),
		},
		{
			"a subnamespace that is being deleted has no parent any more, and still its anchor", "a <- -*b <- c",
			lines("a: anchor b Ok", "b: above c", "c: below b"),
		},
		{"a namespace that is being deleted keeps the parent in its configuration", "a <- -b", lines("a: above b", "b: below a")},
		{"an anchor for a namespace of another parent", "a <- *b, c <- @b", lines("a: above b anchor b Ok", "b: sub below a", "c: anchor b Conflict")},
		{"an anchor for a namespace that is none of the tree", "b, c <- @b", lines("b:", "c: anchor b Conflict")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := brief(treetest.Make(t, tt.tree))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.tree, diff)
			}
		})
	}
}

func TestTree_namesTheCycleFromTheSmallestName(t *testing.T) {
	t.Parallel()
	made := treetest.Make(t, "b <- a <- c <- b, c <- d")
	for _, name := range []string{"a", "b", "c"} {
		want := []tree.Condition{{Type: "ActivitiesHalted", Reason: "InCycle", Message: "the namespace is its own ancestor: a <- c <- b <- a"}}
		if diff := cmp.Diff(want, made.Get(name).Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := made.Get("d").HaltedBy; got != "c" {
		t.Errorf("d is halted by %q", got)
	}
}

func TestTree_keepsAllReasons(t *testing.T) {
	t.Parallel()
	bad := []hncv1alpha2.MetaKVP{{Key: "b", Value: "1"}, {Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	made := treetest.Make(t, "?z <- /b",
		tree.SetConfig("b", &hncv1alpha2.HierarchyConfigurationSpec{Labels: bad, Annotations: bad[:1]}),
		tree.SetSettings(tree.Settings{DeletingCRD: true}))
	want := []tree.Condition{
		{Type: "ActivitiesHalted", Reason: "DeletingCRD", Message: "the CRD of HierarchyConfigurations is being deleted, so nothing is propagated any more"},
		{Type: "ActivitiesHalted", Reason: "ParentMissing", Message: `the parent "z" does not exist`},
		{Type: "BadConfiguration", Reason: "IllegalManagedAnnotation", Message: "the configuration does not let these annotations be managed: b"},
		{Type: "BadConfiguration", Reason: "IllegalManagedLabel", Message: "the configuration does not let these labels be managed: a, b"},
		{Type: "BadConfiguration", Reason: "SubnamespaceAnchorMissing", Message: `there is no anchor "b" in the parent "z"`},
	}
	if diff := cmp.Diff(want, made.Get("b").Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTree_walksUpAndDown(t *testing.T) {
	t.Parallel()
	made := treetest.Make(t, "a <- b <- c, a <- d, ?z <- o <- p, x <- y <- x, y <- w")
	tests := []struct {
		name, root       string
		ancestors, below []string
	}{
		{"a", "a", nil, []string{"b", "c", "d"}},
		{"c", "a", []string{"b", "a"}, nil},
		{"o", "o", nil, []string{"p"}},
		{"p", "o", []string{"o"}, nil},
		{"w", "y", []string{"y"}, nil},
		{"x", "x", nil, []string{"w", "y"}},
		{"z", "z", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := made.Root(tt.name); got != tt.root {
				t.Errorf("the root is %q, want %q", got, tt.root)
			}
			if diff := cmp.Diff(tt.ancestors, made.Ancestors(tt.name)); diff != "" {
				t.Errorf("ancestors (-want +got):\n%s", diff)
			}
			for _, name := range made.Names() {
				if got := made.IsAncestor(name, tt.name); got != slices.Contains(tt.ancestors, name) {
					t.Errorf("%q is an ancestor: %v", name, got)
				}
			}
			if diff := cmp.Diff(tt.below, made.Descendants(tt.name)); diff != "" {
				t.Errorf("descendants (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApply_saysWhichNamespacesChanged(t *testing.T) {
	t.Parallel()
	const family = "a <- b <- c, a <- d, e, f <- *g"
	config := func(parent string) *hncv1alpha2.HierarchyConfigurationSpec {
		return &hncv1alpha2.HierarchyConfigurationSpec{Parent: parent}
	}
	tests := []struct {
		name string
		edit tree.Edit
		want []string
	}{
		{"nothing, for the same again", tree.SetConfig("c", config("b")), nil},
		{"nobody else, for a label that no key allows", tree.SetNamespace("a", &tree.Object{Labels: map[string]string{"x": "y"}}), []string{"a"}},
		{"both parents and what is below, for a move", tree.SetConfig("b", config("e")), []string{"a", "b", "c", "e"}},
		{"both and nobody else, for a leaf that leaves", tree.SetConfig("d", nil), []string{"a", "d"}},
		{"the children, for a parent that goes", tree.SetNamespace("a", nil), []string{"a", "b", "c", "d"}},
		{"the members and what is below, for a cycle", tree.SetConfig("a", config("c")), []string{"a", "b", "c", "d"}},
		{"parent and child, for an anchor that goes", tree.SetAnchor("f", "g", nil), []string{"f", "g"}},
		{"one, for an anchor that comes", tree.SetAnchor("f", "new", &hncv1alpha2.SubnamespaceAnchorSpec{}), []string{"f"}},
		{"child, parent and anchor, for a namespace that goes", tree.SetNamespace("g", nil), []string{"f", "g"}},
		{"one, for a stranger", tree.SetNamespace("h", &tree.Object{}), []string{"h"}},
		{"all, when everything is halted", tree.SetSettings(tree.Settings{DeletingCRD: true}), []string{"a", "b", "c", "d", "e", "f", "g"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, got := treetest.Make(t, family).Apply(tt.edit); !cmp.Equal(tt.want, got) {
				t.Errorf("changed are %v, want %v", got, tt.want)
			}
		})
	}
}

func TestApply_forgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	made := treetest.Make(t, "a <- *b, ?z <- c")
	for _, e := range []tree.Edit{
		tree.SetNamespace("a", nil), tree.SetNamespace("b", nil), tree.SetNamespace("c", nil), tree.SetAnchor("a", "b", nil), tree.SetConfig("c", nil),
	} {
		made, _ = made.Apply(e)
	}
	if known := made.Known(); known != 0 {
		t.Errorf("%d names are still known", known)
	}
}
