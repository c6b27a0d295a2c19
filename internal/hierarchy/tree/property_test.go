// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// dice makes random edits, each of which it also makes in a world.
type dice struct {
	*rand.Rand
	names []string
	w     *world
}

func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func (d dice) name() string { return one(d, d.names...) }

func (d dice) pairs() []hncv1alpha2.MetaKVP {
	var out []hncv1alpha2.MetaKVP
	for range d.IntN(3) {
		out = append(out, hncv1alpha2.MetaKVP{Key: one(d, "team", "cost", "other", "hnc.x-k8s.io/team"), Value: one(d, "x", "y")})
	}
	return out
}

func (d dice) object() *tree.Object {
	o := &tree.Object{Labels: map[string]string{}, Annotations: map[string]string{}, Terminating: d.IntN(10) == 0}
	for range d.IntN(4) {
		key := one(d, "team", "app", "hnc.x-k8s.io/included-namespace", "hnc.x-k8s.io/excluded-namespace", d.name()+".tree.hnc.x-k8s.io/depth")
		o.Labels[key] = one(d, "0", "1", "7", "-2", "x", "true")
	}
	if d.IntN(2) == 0 {
		o.Annotations["hnc.x-k8s.io/subnamespace-of"] = d.name()
	}
	if d.IntN(3) > 0 {
		o.Annotations["holdfast.dev/inherited-pod-security"] = one(d, "", "", "enforce=baseline", "enforce=restricted,warn=baseline", "?")
	}
	for range d.IntN(3) {
		o.Labels["pod-security.kubernetes.io/"+one(d, "enforce", "warn")] = one(d, "baseline", "restricted")
	}
	if d.IntN(4) == 0 {
		o.Annotations["hnc.x-k8s.io/managed-by"] = one(d, "", "hnc.x-k8s.io", "somebody")
	}
	if d.IntN(3) == 0 {
		o.Annotations[one(d, "cost", "note")] = one(d, "x", "y")
	}
	return o
}

func (d dice) settings(t testing.TB) tree.Settings {
	keys := func() tree.Keys {
		out, err := tree.CompileKeys(one(d, nil, []string{"team"}, []string{"team", "co.*"}))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	excluded := one(d, "", d.name())
	return tree.Settings{
		Managed:      func(name string) bool { return name != excluded },
		ManagedLabel: keys(), ManagedAnnotation: keys(), DeletingCRD: d.IntN(8) == 0,
	}
}

func (d dice) edit(t testing.TB) tree.Edit {
	a, b := d.name(), d.name()
	switch n := d.IntN(100); {
	case n < 8:
		put(d.w.objects, a, nil)
		return tree.SetNamespace(a, nil)
	case n < 40:
		o := d.object()
		put(d.w.objects, a, o)
		return tree.SetNamespace(a, o)
	case n < 45:
		put(d.w.configs, a, nil)
		return tree.SetConfig(a, nil)
	case n < 75:
		c := &hncv1alpha2.HierarchyConfigurationSpec{
			Parent: one(d, "", b, b), AllowCascadingDeletion: d.IntN(4) == 0, Labels: d.pairs(), Annotations: d.pairs(),
		}
		put(d.w.configs, a, c)
		return tree.SetConfig(a, c)
	case n < 82:
		put(d.w.anchors, [2]string{a, b}, nil)
		return tree.SetAnchor(a, b, nil)
	case n < 97:
		s := &hncv1alpha2.SubnamespaceAnchorSpec{Labels: d.pairs(), Annotations: d.pairs()}
		put(d.w.anchors, [2]string{a, b}, s)
		return tree.SetAnchor(a, b, s)
	default:
		d.w.settings = d.settings(t)
		return tree.SetSettings(d.w.settings)
	}
}

func all(t *tree.Tree) map[string]*tree.Outcome {
	out := map[string]*tree.Outcome{}
	for _, name := range t.Names() {
		out[name] = t.Get(name)
	}
	return out
}

var same = cmpopts.EquateEmpty()

func difference(a, b map[string]*tree.Outcome) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !cmp.Equal(a[name], b[name], same) {
			out = append(out, name)
		}
	}
	return out
}

// TestApply_endsWhereAPlainComputationDoes makes random edits, one by one and many
// at once, and compares with the plain implementation after each step: all that
// follows, and the namespaces that are said to have changed.
func TestApply_endsWhereAPlainComputationDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			d := dice{rand.New(rand.NewPCG(seed, 1)), names(2 + int(seed%9)), newWorld()}
			now, before := &tree.Tree{}, map[string]*tree.Outcome{}
			for step := range 40 {
				var edits []tree.Edit
				for range 1 + d.IntN(4)*d.IntN(4) {
					edits = append(edits, d.edit(t))
				}
				next, changed := now.Apply(edits...)
				if diff := cmp.Diff(before, all(now), same); diff != "" {
					t.Fatalf("step %d changed the tree before it (-want +got):\n%s", step, diff)
				}
				want := d.w.outcomes()
				if diff := cmp.Diff(want, all(next), same); diff != "" {
					t.Fatalf("step %d (-want +got):\n%s", step, diff)
				}
				if diff := cmp.Diff(difference(before, want), changed, same); diff != "" {
					t.Fatalf("step %d: the namespaces that changed (-want +got):\n%s", step, diff)
				}
				now, before = next, want
			}
		})
	}
}

// TestApply_isTheSameInAnyOrder ends in one state, whatever comes first.
func TestApply_isTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		d := dice{rand.New(rand.NewPCG(seed, 2)), names(8), newWorld()}
		for range 60 {
			d.edit(t)
		}
		d.w.settings = d.settings(t)
		edits := []tree.Edit{tree.SetSettings(d.w.settings)}
		for name, o := range d.w.objects {
			edits = append(edits, tree.SetNamespace(name, o))
		}
		for name, c := range d.w.configs {
			edits = append(edits, tree.SetConfig(name, c))
		}
		for at, a := range d.w.anchors {
			edits = append(edits, tree.SetAnchor(at[0], at[1], a))
		}
		for range 5 {
			d.Shuffle(len(edits), func(i, j int) { edits[i], edits[j] = edits[j], edits[i] })
			now := &tree.Tree{}
			for _, e := range edits {
				now, _ = now.Apply(e)
			}
			if diff := cmp.Diff(d.w.outcomes(), all(now), same); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	}
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, string(rune('a'+i)))
	}
	return out
}
