// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// samples are how many random changes are compared: so many that each verdict is among them, or more where there
// is time for it.
func samples() int {
	if testing.Short() {
		return 60
	}
	return 250
}

// text of a verdict, as verdict writes those of the API server. The keys of tree
// labels stand there in any order.
func text(v rules.Verdict) string {
	if v.Denied == nil {
		return "ok"
	}
	return fmt.Sprintf("%d %s", v.Denied.Code, v.Denied.Message)
}

func inOrder(text string) string {
	before, keys, _ := strings.Cut(text, "cannot be changed: ")
	words := strings.Split(keys, ", ")
	slices.Sort(words)
	return before + strings.Join(words, ", ")
}

// some is a random subset of keys, each with one of its values.
func some(dice *rand.Rand, values map[string][]string) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if of := values[k]; dice.IntN(2) == 0 {
			out[k] = of[dice.IntN(len(of))]
		}
	}
	return out
}

func metaOf(u *unstructured.Unstructured) rules.Meta {
	return rules.Meta{Labels: u.GetLabels(), Annotations: u.GetAnnotations()}
}

// testSameOfNamespaces puts random changes of namespaces to the rules and to the API
// server, which must say the same. What the tree says, the labels say too.
func testSameOfNamespaces(t *testing.T, s *server) {
	dice, ann := rand.New(rand.NewPCG(5, 6)), s.as(t, "ann")
	random := func(u *unstructured.Unstructured, name string) {
		u.SetLabels(some(dice, map[string][]string{
			included: {"true", "no"}, excluded: {"true", "x"}, "app": {"a", "b"},
			name + ".tree.hnc.x-k8s.io/depth": {"0"}, "p.tree.hnc.x-k8s.io/depth": {"1"}, "q.tree.hnc.x-k8s.io/depth": {"2"},
		}))
		u.SetAnnotations(some(dice, map[string][]string{hncv1alpha2.AnnotationManagedBy: {"", "hnc.x-k8s.io", "somebody"}}))
	}
	refusals := map[string]int{}
	for i := range samples() {
		var before *unstructured.Unstructured
		name := []string{"different-excluded", fmt.Sprintf("different-%d", i%20), "different-excluded-too"}[dice.IntN(3)]
		after := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
		op := rules.Create
		if s.Client.Get(t.Context(), client.ObjectKeyFromObject(after), after) == nil || dice.IntN(2) == 0 {
			op = rules.Update
			before = after.DeepCopy()
			random(before, name)
			if err := s.as(t, "holdfast").Apply(t.Context(), client.ApplyConfigurationFromUnstructured(bare(before)), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
				t.Fatal(err)
			}
			after = before.DeepCopy()
		}
		random(after, name)
		w := s.parentsByLabels(before)
		asked := metaOf(after.DeepCopy())
		if op == rules.Create {
			for _, key := range w.RestoredLabels(name, asked.Labels) {
				delete(asked.Labels, key)
			}
		}
		if w.IncludedLabel(name, asked) {
			asked.Labels[included] = "true" // the webhook adds it before anything is judged
		}
		var was rules.Meta
		var err error
		if op == rules.Create {
			err = ann.Create(t.Context(), after.DeepCopy(), client.DryRunAll)
		} else {
			was = metaOf(before)
			l := after.GetLabels()
			l["kubernetes.io/metadata.name"] = name
			after.SetLabels(l)
			err = ann.Update(t.Context(), after.DeepCopy(), client.DryRunAll)
		}
		want, got := text(w.Namespace(op, name, was, asked)), verdict(err)
		if inOrder(got) != inOrder(want) {
			t.Fatalf("%s of %s\nfrom %v\nto %v:\nthe API server says %s\nthe rules say %s", op, name, was, asked, got, want)
		}
		refusals[shape(want)]++
	}
	comesTo(t, refusals, "ok", rules.TextNotIncluded, rules.TextIncluded, rules.TextNotExcluded, rules.TextTreeLabels, rules.TextExternal)
}

// bare is what an apply may have.
func bare(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(u.GroupVersionKind())
	out.SetName(u.GetName())
	out.SetNamespace(u.GetNamespace())
	out.SetLabels(u.GetLabels())
	out.SetAnnotations(u.GetAnnotations())
	return out
}

// parentsByLabels has a namespace with the parent that its labels say.
func (s *server) parentsByLabels(u *unstructured.Unstructured) rules.World {
	t := tree.New(s.settings.Tree(false))
	if u != nil {
		parent := ""
		for _, p := range []string{"q", "p"} {
			if _, has := u.GetLabels()[p+".tree.hnc.x-k8s.io/depth"]; has {
				parent = p
			}
		}
		t, _ = t.Apply(
			tree.SetNamespace(u.GetName(), &tree.Object{Annotations: u.GetAnnotations()}),
			tree.SetConfig(u.GetName(), &hncv1alpha2.HierarchyConfigurationSpec{Parent: parent}))
	}
	return rules.World{Tree: t, Sources: sources(""), Excluded: s.settings.Excluded}
}

// shape is a text without what differs from case to case.
func shape(text string) string {
	_, words, _ := strings.Cut(text, " ")
	for _, t := range []string{
		rules.TextNotIncluded, rules.TextIncluded, rules.TextNotExcluded, rules.TextTreeLabels, rules.TextExternal,
		rules.TextCopyMade, rules.TextCopyDeleted, rules.TextCopyLabel, rules.TextCopyChanged,
	} {
		parts := strings.FieldsFunc(strings.NewReplacer("%q", "\x00", "%s", "\x00").Replace(t), func(r rune) bool { return r == 0 })
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(words, p) }) {
			return t
		}
	}
	return text
}

// comesTo holds that a sample compares something.
func comesTo(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if got[w] == 0 {
			t.Errorf("no case came to %q: %v", w, got)
		}
	}
}

// restored returns a new object as the webhook leaves it.
func restored(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	labels := u.GetLabels()
	if _, isCopy := labels[hncv1alpha2.LabelInheritedFrom]; isCopy {
		delete(labels, hncv1alpha2.LabelInheritedFrom)
		u.SetLabels(labels)
		u.SetAnnotations(map[string]string{v1alpha1.RestoredCopyAnnotation: "a"})
	}
	return u
}

// testSameOfObjects does the same with objects that are copied, or are copies.
func testSameOfObjects(t *testing.T, s *server) {
	dice, ann := rand.New(rand.NewPCG(7, 8)), s.as(t, "ann")
	namespace := s.Namespace(t)
	var owners []any // that are there, so that nothing is collected
	for _, name := range []string{"a", "b"} {
		o := s.create(t, namespace, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
		owners = append(owners, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": string(o.GetUID())})
	}
	random := func(name string) *unstructured.Unstructured {
		u := parse(t, "{apiVersion: v1, kind: Secret}")
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetLabels(some(dice, map[string][]string{hncv1alpha2.LabelInheritedFrom: {"a", "a", "b"}, "app": {"a", "b"}}))
		u.SetAnnotations(some(dice, map[string][]string{"note": {"a", "b"}}))
		for field, value := range some(dice, map[string][]string{"data": {"YQ==", "Yg=="}, "more": {"Yw=="}}) {
			_ = unstructured.SetNestedField(u.Object, value, "data", field)
		}
		if dice.IntN(4) == 0 {
			u.Object["metadata"].(map[string]any)["ownerReferences"] = []any{owners[dice.IntN(2)]}
		}
		return u
	}
	refusals := map[string]int{}
	w, err := s.world(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range samples() {
		name := fmt.Sprintf("different-%d", i)
		before, after := random(name), random(name)
		if dice.IntN(3) == 0 {
			after = before.DeepCopy() // with a little difference
			after.SetAnnotations(some(dice, map[string][]string{"note": {"a", "b"}}))
		}
		op := []rules.Operation{rules.Create, rules.Update, rules.Update, rules.Delete}[dice.IntN(4)]
		if op != rules.Create {
			if err := s.as(t, "holdfast").Create(t.Context(), before); err != nil {
				t.Fatal(err)
			}
		}
		var was, is *unstructured.Unstructured
		switch op {
		case rules.Create:
			is = restored(after)
			err = ann.Create(t.Context(), after.DeepCopy(), client.DryRunAll)
		case rules.Update:
			was, is = before, after
			after.Object["type"], after.Object["kind"] = before.Object["type"], "Secret"
			after.SetResourceVersion(before.GetResourceVersion())
			err = ann.Update(t.Context(), after.DeepCopy(), client.DryRunAll)
		case rules.Delete:
			was = before
			err = ann.Delete(t.Context(), before.DeepCopy(), client.DryRunAll)
		}
		want, got := text(w.Object(secret, namespace, was, is, false)), verdict(err)
		if got != want {
			t.Fatalf("%s\nfrom %v\nto %v:\nthe API server says %s\nthe rules say %s", op, was, is, got, want)
		}
		refusals[shape(want)]++
		if was != nil { // the webhook here reads all objects for each request
			if err := s.as(t, "holdfast").Delete(t.Context(), was); err != nil {
				t.Fatal(err)
			}
		}
	}
	comesTo(t, refusals, "ok", rules.TextCopyDeleted, rules.TextCopyLabel, rules.TextCopyChanged)
}
