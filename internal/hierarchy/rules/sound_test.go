// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// randomWorld has up to eight namespaces with any parents, cycles and orphans among
// them, and Secrets in some.
func randomWorld(t *testing.T, dice *rand.Rand) (w rules.World, names []string) {
	t.Helper()
	names = strings.Fields("a b c d e f g h")[:2+dice.IntN(7)]
	w = world(t, "!x")
	var edits []tree.Edit
	var secrets []string
	for _, name := range names {
		o := &tree.Object{Annotations: map[string]string{}}
		parent := append(names, "x", "z", "", "")[dice.IntN(len(names)+4)]
		switch dice.IntN(6) {
		case 0:
			o.Annotations[hncv1alpha2.AnnotationSubnamespaceOf] = parent
		case 1:
			o.Annotations[hncv1alpha2.AnnotationManagedBy] = "somebody"
		default:
			edits = append(edits, tree.SetConfig(name, &spec{Parent: parent}))
		}
		edits = append(edits, tree.SetNamespace(name, o))
		if dice.IntN(4) == 0 {
			secrets = append(secrets, name+":"+[]string{"", "!a", "b"}[dice.IntN(3)])
		}
	}
	w.Tree, _ = w.Tree.Apply(edits...)
	w.Sources = sources("Propagate", secrets...)
	return w, names
}

// TestHierarchyConfiguration_whatIsAllowedDoesNoHarm asks for every parent in random
// trees: what is allowed breaks no namespace and takes no source's place, and
// whoever changes a parent is asked for rights.
func TestHierarchyConfiguration_whatIsAllowedDoesNoHarm(t *testing.T) {
	t.Parallel()
	moves := 0
	for seed := range uint64(300) {
		w, names := randomWorld(t, rand.New(rand.NewPCG(seed, 4)))
		for _, name := range names {
			for _, parent := range append(names, "", "x", "z") {
				before := w.Tree.Get(name)
				v := w.HierarchyConfiguration(name, &spec{Parent: parent})
				if v.Denied != nil || before.Parent == parent {
					continue
				}
				moves++
				if len(v.Authorize) == 0 && v.Confirm == "" {
					t.Fatalf("seed %d: anybody may move %s below %q", seed, name, parent)
				}
				after, _ := w.Tree.Apply(tree.SetConfig(name, &spec{Parent: parent}))
				if got := after.Get(name); got.Parent != parent || got.HaltedBy == name {
					t.Fatalf("seed %d: %s below %q is %+v", seed, name, parent, got)
				}
				gaveWay := lost(w, after)
				for _, c := range lost(w, w.Tree) {
					gaveWay = slices.DeleteFunc(gaveWay, func(d propagate.Conflict) bool { return c == d })
				}
				if len(gaveWay) > 0 {
					t.Fatalf("seed %d: with %s below %q, %v give way", seed, name, parent, gaveWay)
				}
			}
		}
	}
	if moves < 1000 {
		t.Errorf("only %d moves were allowed, so this shows little", moves)
	}
}

func lost(w rules.World, t *tree.Tree) []propagate.Conflict { return w.Sources.Conflicts(t, secret) }

// FuzzObject holds that no annotation and no label makes the decision panic, that
// what is allowed can be read, and that nobody but Holdfast makes a copy.
func FuzzObject(f *testing.F) {
	f.Add("propagate.hnc.x-k8s.io/treeSelect", "a,", "app", "x", true)
	f.Add("propagate.hnc.x-k8s.io/select", "a in (", "hnc.x-k8s.io/inherited-from", "a", false)
	f.Add("/", "", "", "", true)
	f.Fuzz(func(t *testing.T, annotation, value, label, labelValue string, create bool) {
		w := world(t, "a <- b, a <- c", "b")
		after := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret"}}
		after.SetName("x")
		after.SetAnnotations(map[string]string{annotation: value})
		after.SetLabels(map[string]string{label: labelValue})
		var before *unstructured.Unstructured
		if !create {
			before = object("")
		}
		if v := w.Object(secret, "a", before, after, false); v.Denied != nil {
			return
		}
		if label == hncv1alpha2.LabelInheritedFrom {
			t.Errorf("a copy by hand: %q", labelValue)
		}
		if _, err := propagate.ParseExceptions(after.GetAnnotations()); err != nil {
			t.Errorf("allowed, and cannot be read: %v", err)
		}
	})
}

// FuzzNames holds that no name and no key makes a decision panic, and that what is
// refused says why.
func FuzzNames(f *testing.F) {
	f.Add("b", "a", "team", "x")
	f.Add("", "", "", "")
	f.Add("x", "c", "hnc.x-k8s.io/x", " ")
	f.Fuzz(func(t *testing.T, name, parent, key, value string) {
		w := world(t, "a <- *b <- c, ~e, ?z <- o, p <- q <- p, !x", "a", "c")
		kv := pairs(key, value)
		for _, v := range []rules.Verdict{
			w.HierarchyConfiguration(name, &spec{Parent: parent, Labels: kv, Annotations: kv}), w.HierarchyConfiguration(name, nil),
			w.Anchor(rules.Create, parent, name, hncv1alpha2.SubnamespaceAnchorSpec{Labels: kv}), w.Anchor(rules.Delete, parent, name, hncv1alpha2.SubnamespaceAnchorSpec{}),
			w.Namespace(rules.Create, name, rules.Meta{}, meta(key+"="+value)), w.Namespace(rules.Update, name, meta(key+"="+value), rules.Meta{}),
			w.Namespace(rules.Delete, name, meta("@subnamespace-of="+parent), rules.Meta{}),
		} {
			if d := v.Denied; d != nil && (d.Code < 400 || d.Reason == "" || d.Message == "") {
				t.Errorf("it does not say why: %+v", d)
			}
		}
	})
}
