// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// depths are the tree labels of a namespace, as "a=1 b=0".
func depths(o *tree.Outcome) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		if name, is := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix); is {
			out = append(out, name+"="+o.Labels[key])
		}
	}
	return strings.Join(out, " ")
}

func TestTreeLabels_stopAtTheFirstBrokenNamespace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tree string
		of   string
		want string
	}{
		{"one for itself", "a", "a", "a=0"},
		{"one for each ancestor", "a <- b <- c", "c", "a=2 b=1 c=0"},
		{"none above an orphan", "?z <- b <- c", "c", "b=1 c=0"},
		{"none above a namespace with an excluded parent", "!x <- b <- c", "c", "b=1 c=0"},
		{"none from around a cycle", "a <- b <- a <- c", "c", "a=1 c=0"},
		{"one for itself in a cycle", "a <- b <- a", "b", "b=0"},
		{"none for an excluded namespace", "a <- !x", "x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := depths(treetest.Make(t, tt.tree).Get(tt.of)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTreeLabels_thatAreStaleGo(t *testing.T) {
	t.Parallel()
	stale := &tree.Object{Labels: map[string]string{
		"old.tree.hnc.x-k8s.io/depth": "3", "b.tree.hnc.x-k8s.io/depth": "7", "app": "shop", "hnc.x-k8s.io/testNamespace": "x",
		"hnc.x-k8s.io/excluded-namespace": "true", "hnc.x-k8s.io/included-namespace": "false",
	}}
	want := map[string]string{
		"a.tree.hnc.x-k8s.io/depth": "1", "b.tree.hnc.x-k8s.io/depth": "0", "app": "shop", "hnc.x-k8s.io/testNamespace": "x",
		"hnc.x-k8s.io/included-namespace": "true",
	}
	if diff := cmp.Diff(want, treetest.Make(t, "a <- b", tree.SetNamespace("b", stale)).Get("b").Labels); diff != "" {
		t.Errorf("managed (-want +got):\n%s", diff)
	}
	want = map[string]string{"app": "shop", "hnc.x-k8s.io/testNamespace": "x", "hnc.x-k8s.io/excluded-namespace": "true"}
	if diff := cmp.Diff(want, treetest.Make(t, "a <- !b", tree.SetNamespace("b", stale)).Get("b").Labels); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
}

func TestExternal_labelsAreTrustedAndAddedUp(t *testing.T) {
	t.Parallel()
	e := &tree.Object{
		Labels: map[string]string{
			"far.tree.hnc.x-k8s.io/depth": "2", "near.tree.hnc.x-k8s.io/depth": "1", "e.tree.hnc.x-k8s.io/depth": "5",
			"bad.tree.hnc.x-k8s.io/depth": "x", "team": "theirs", "app": "shop",
		},
		Annotations: map[string]string{hncv1alpha2.AnnotationManagedBy: "somebody"},
	}
	keys, err := tree.CompileKeys([]string{"team"})
	if err != nil {
		t.Fatal(err)
	}
	made := treetest.Make(t, "e <- b <- c", tree.SetNamespace("e", e), tree.SetSettings(tree.Settings{ManagedLabel: keys}))
	if got := depths(made.Get("e")); got != "bad=x e=0 far=2 near=1" {
		t.Errorf("e keeps %q", got)
	}
	if got := depths(made.Get("c")); got != "b=1 c=0 e=2 far=4 near=3" {
		t.Errorf("c has %q", got)
	}
	if c := made.Get("c").Labels; c["team"] != "theirs" || c["app"] != "" {
		t.Errorf("c has the labels %v", c)
	}
}

func TestManaged_theAncestorWins(t *testing.T) {
	t.Parallel()
	keys, err := tree.CompileKeys([]string{"team", "cost-.*"})
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(kv ...string) (out []hncv1alpha2.MetaKVP) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, hncv1alpha2.MetaKVP{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	stale := map[string]string{"cost-old": "1", "app": "shop", "team": "c"}
	made := treetest.Make(t, "a <- *b <- c",
		tree.SetSettings(tree.Settings{ManagedLabel: keys, ManagedAnnotation: keys}),
		tree.SetConfig("a", &hncv1alpha2.HierarchyConfigurationSpec{Labels: pairs("team", "a"), Annotations: pairs("cost-x", "a")}),
		tree.SetConfig("b", &hncv1alpha2.HierarchyConfigurationSpec{Labels: pairs("cost-lost", "b")}),
		tree.SetAnchor("a", "b", &hncv1alpha2.SubnamespaceAnchorSpec{Labels: pairs("team", "b", "cost-b", "b", "not-allowed", "b")}),
		tree.SetNamespace("c", &tree.Object{Labels: stale, Annotations: stale}))

	got := made.Get("c")
	labels := maps.Clone(got.Labels)
	maps.DeleteFunc(labels, func(k, _ string) bool { return tree.OfHNC(k) })
	if diff := cmp.Diff(map[string]string{"app": "shop", "team": "a", "cost-b": "b"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"app": "shop", "cost-x": "a"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	want := hncv1alpha2.HierarchyConfigurationSpec{Parent: "a", Labels: pairs("team", "b", "cost-b", "b", "not-allowed", "b")}
	if diff := cmp.Diff(want, made.Get("b").Spec); diff != "" {
		t.Errorf("what the configuration of b should say (-want +got):\n%s", diff)
	}
	if c := made.Get("b").Conditions; len(c) != 1 || c[0].Reason != hncv1alpha2.ReasonIllegalManagedLabel {
		t.Errorf("the conditions of b are %v", c)
	}
}

func TestCompileKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		expression string
		key        string
		want       bool
		fails      bool
	}{
		{"matches the whole key", "team", "team", true, false},
		{"does not match a part", "team", "myteam", false, false},
		{"keeps both sides of an or within the ends", "a|b", "bc", false, false},
		{"matches with a prefix", `example\.com/.*`, "example.com/team", true, false},
		{"never a key of HNC", `.*/.*`, "hnc.x-k8s.io/included-namespace", false, false},
		{"never a tree label", `.*/depth`, "a.tree.hnc.x-k8s.io/depth", false, false},
		{"never a mark of Holdfast", `.*/.*`, "holdfast.dev/deletion-override", false, false},
		{"never what a RootSync writes", `.*\.kubernetes\.io/.*`, "applyset.kubernetes.io/part-of", false, false},
		{"never by what a RootSync knows its objects", `.*\.kubernetes\.io/.*`, "app.kubernetes.io/managed-by", false, false},
		{"a key beside those", `.*\.kubernetes\.io/.*`, "app.kubernetes.io/managed-by-team", true, false},
		{"refuses what matches the group", ".*", "", false, true},
		{"refuses what is no expression", "(", "", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys, err := tree.CompileKeys([]string{tt.expression})
			if (err != nil) != tt.fails {
				t.Fatalf("the error is %v", err)
			}
			if got := keys.Has(tt.key); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
