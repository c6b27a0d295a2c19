// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// declared makes objects of lines "Kind[.group] [namespace/]name [> reference,reference]";
// a CRD is "CRD name Kind.group".
func declared(lines ...string) (out []object.Declared) {
	for _, line := range lines {
		line, on, _ := strings.Cut(line, " > ")
		words := strings.Fields(line)
		u := &unstructured.Unstructured{Object: map[string]any{}}
		kind, group, _ := strings.Cut(words[0], ".")
		if kind == "CRD" {
			kind, group = "CustomResourceDefinition", "apiextensions.k8s.io"
			defines, of, _ := strings.Cut(words[2], ".")
			u.Object["spec"] = map[string]any{"group": of, "names": map[string]any{"kind": defines}}
		}
		version := "v1"
		if group != "" {
			version = group + "/v1"
		}
		u.SetAPIVersion(version)
		u.SetKind(kind)
		namespace, name, found := strings.Cut(words[1], "/")
		if !found {
			namespace, name = "", words[1]
		}
		u.SetNamespace(namespace)
		u.SetName(name)
		if on != "" {
			u.SetAnnotations(map[string]string{object.AnnotationDependsOn: on})
		}
		out = append(out, object.Declared{Object: u, Path: "x.yaml"})
	}
	return out
}

func build(t *testing.T, lines ...string) (*Graph, []*knv.Error) {
	t.Helper()
	var nodes []Node
	for _, d := range declared(lines...) {
		nodes = append(nodes, NodeOf(d))
	}
	return Build(nodes)
}

func TestBuild_needs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, lines, of, want string
	}{
		{"nothing", "Namespace a", "Namespace a", ""},
		{"its namespace, if that is declared", "Namespace a; ConfigMap a/x", "ConfigMap a/x", "Namespace, /a"},
		{"no namespace that is not", "ConfigMap a/x", "ConfigMap a/x", ""},
		{"what defines its kind", "CRD ws W.g.io; W.g.io a/x", "W.g.io a/x", "CustomResourceDefinition.apiextensions.k8s.io, /ws"},
		{"not what defines a kind of that name elsewhere", "CRD ws W.g.io; W.h.io a/x", "W.h.io a/x", ""},
		{"what it names", "ConfigMap a/x > /namespaces/a/Secret/s, g.io/W/w; Secret a/s; W.g.io w", "ConfigMap a/x", "Secret, a/s; W.g.io, /w"},
		{"each once", "Namespace a; ConfigMap a/x > /Namespace/a,/Namespace/a", "ConfigMap a/x", "Namespace, /a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, errs := build(t, strings.Split(tt.lines, "; ")...)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var got []string
			of := declared(tt.of)[0].ID()
			for _, id := range g.Needs(of) {
				got = append(got, id.String())
				if !slices.Contains(g.NeededBy(id), of) {
					t.Errorf("%s is not needed by it", id)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBuild_bad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, lines, want string
		bad               int
	}{
		{"an object of another source", "ConfigMap a/x > /Namespace/b", "KNV2009: external dependency: /namespaces/a/ConfigMap/x -> /Namespace/b: only an object of the same source can be waited for", 1},
		{"itself", "Namespace a > /Namespace/a", "KNV2009: cyclic dependency:\n- /Namespace/a -> /Namespace/a", 1},
		{
			"a cycle, of which no object is applied, and what only needs it", "Namespace a > /Namespace/b; Namespace b > /Namespace/c; Namespace c > /Namespace/a; Namespace d > /Namespace/a; Namespace e",
			"KNV2009: cyclic dependency:\n- /Namespace/a -> /Namespace/b\n- /Namespace/b -> /Namespace/c\n- /Namespace/c -> /Namespace/a", 3,
		},
		{
			"a namespace that waits for what is in it", "Namespace a > /namespaces/a/ConfigMap/x; ConfigMap a/x",
			"KNV2009: cyclic dependency:\n- /namespaces/a/ConfigMap/x -> /Namespace/a\n- /Namespace/a -> /namespaces/a/ConfigMap/x", 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(tt.lines, "; ")
			g, errs := build(t, lines...)
			if len(errs) != 1 {
				t.Fatalf("got %d errors: %v", len(errs), errs)
			}
			if diff := cmp.Diff(tt.want, errs[0].Error()); diff != "" {
				t.Error(diff)
			}
			bad := 0
			for _, d := range declared(lines...) {
				if g.Bad(d.ID()) != nil {
					bad++
				}
			}
			if bad != tt.bad || len(errs[0].Resources) != tt.bad {
				t.Errorf("bad: got %d, about %d, want %d", bad, len(errs[0].Resources), tt.bad)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "/namespaces/a/ConfigMap/", "apps/namespace/a/Deployment/x", "a/b/c/d", "//x"} {
		if got, err := References(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
	d := declared("ConfigMap a/x > nonsense")[0]
	g, errs := Build([]Node{NodeOf(d)})
	if len(errs) != 1 || errs[0].Code != knv.Applier || !strings.Contains(errs[0].Text, `"nonsense" is neither`) || g.Bad(d.ID()) != errs[0] {
		t.Errorf("got %v", errs)
	}
	for _, text := range []string{"", "/Namespace/a", "apps/namespaces/a/Deployment/x"} {
		ids, err := References(text)
		if err != nil {
			t.Error(err)
		}
		for _, id := range ids {
			if diff := cmp.Diff(text, Reference(id)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// Whatever the edges: an object is in a cycle if and only if it can be reached from
// itself, and without those there is an order in which each comes after what it needs.
func TestBuild_random(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nodes := make([]Node, 1+rng.IntN(12))
		for i := range nodes {
			nodes[i].ID = object.NamespaceID(fmt.Sprint(i))
			for range rng.IntN(3) {
				nodes[i].DependsOn = append(nodes[i].DependsOn, object.NamespaceID(fmt.Sprint(rng.IntN(len(nodes)))))
			}
		}
		g, _ := Build(nodes)
		shuffled := slices.Clone(nodes)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		other, _ := Build(shuffled)
		for _, n := range nodes {
			if got, want := g.Bad(n.ID) != nil, reaches(g, n.ID, n.ID); got != want {
				t.Errorf("seed %d: %s in a cycle: got %t, want %t", seed, n.ID, got, want)
			}
			if (g.Bad(n.ID) == nil) != (other.Bad(n.ID) == nil) {
				t.Errorf("seed %d: %s depends on the order", seed, n.ID)
			}
		}
		if left := unordered(g, nodes); len(left) > 0 {
			t.Errorf("seed %d: no order for %v", seed, left)
		}
	}
}

func reaches(g *Graph, from, to object.ID) bool {
	seen, todo := map[object.ID]bool{}, slices.Clone(g.Needs(from))
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if id == to {
			return true
		}
		if !seen[id] {
			seen[id], todo = true, append(todo, g.Needs(id)...)
		}
	}
	return false
}

// unordered are the objects that never get their turn, if those in cycles count as there.
func unordered(g *Graph, nodes []Node) (left []object.ID) {
	done := map[object.ID]bool{}
	for range nodes {
		left = nil
		for _, n := range nodes {
			missing := slices.ContainsFunc(g.Needs(n.ID), func(on object.ID) bool { return !done[on] })
			if done[n.ID] = g.Bad(n.ID) != nil || !missing; !done[n.ID] {
				left = append(left, n.ID)
			}
		}
	}
	return left
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var ids []object.ID
	for _, d := range declared("ValidatingWebhookConfiguration.a w", "Widget.g w", "ConfigMap b/x", "ServiceAccount b/x", "ConfigMap a/x", "Namespace z", "CRD ws W.g") {
		ids = append(ids, d.ID())
	}
	var got []string
	for _, id := range Order(ids) {
		got = append(got, id.Kind+" "+id.Namespace)
	}
	want := []string{"Namespace ", "CustomResourceDefinition ", "ServiceAccount b", "ConfigMap a", "ConfigMap b", "Widget ", "ValidatingWebhookConfiguration "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeepNamespaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		former, now []string
		refused     bool
	}{
		{"two go", []string{"Namespace b", "Namespace a", "ConfigMap a/x"}, []string{"ConfigMap c/x"}, true},
		{"two go with all there is", []string{"Namespace b", "Namespace a"}, nil, true},
		{"one stays", []string{"Namespace b", "Namespace a"}, []string{"Namespace a"}, false},
		{"others come", []string{"Namespace b", "Namespace a"}, []string{"Namespace c"}, false},
		{"one goes", []string{"Namespace a"}, nil, false},
		{"there were none", nil, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var former []object.ID
			for _, d := range declared(tt.former...) {
				former = append(former, d.ID())
			}
			err := KeepNamespaces(former, declared(tt.now...))
			if (err != nil) != tt.refused {
				t.Fatalf("got %v", err)
			}
			const want = "KNV2006: New commit would delete all Namespaces [a b]. If this is not a mistake, follow directions for safely deleting all Namespaces."
			if err != nil && err.Error() != want {
				t.Error(cmp.Diff(want, err.Error()))
			}
		})
	}
}

func TestStillInUse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		own    bool
		others []string
		want   string
	}{
		{"by nobody", false, nil, ""},
		{"by the sync itself", true, nil, "skipped delete of Namespace, /a: namespace still in use: a"},
		{"by others, each once", true, []string{"RootSync y", "RootSync x", "RootSync y"}, "skipped delete of Namespace, /a: namespace still in use: a, by RootSync x, RootSync y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := StillInUse(object.NamespaceID("a"), tt.own, tt.others)
			if got != "" {
				got = SkippedDelete(object.NamespaceID("a"), got)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	want := "skipped apply of ConfigMap, a/x: dependency apply actuation failed: _a__Namespace"
	if diff := cmp.Diff(want, SkippedApply(declared("ConfigMap a/x")[0].ID(), ApplyFailed.Because(object.NamespaceID("a")))); diff != "" {
		t.Error(diff)
	}
}
