// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

type spec = hncv1alpha2.HierarchyConfigurationSpec

var secret = schema.GroupKind{Kind: "Secret"}

// world has a tree, and Secrets x in namespaces, each as "namespace", "namespace:treeSelect" or, for the labels team and
// other, "namespace:key" with a select. The key team can be managed, the name x is in the list
// of those that are excluded.
func world(t *testing.T, text string, secrets ...string) rules.World {
	t.Helper()
	made := treetest.Make(t, text)
	keys, err := tree.CompileKeys([]string{"team", "not a key"})
	if err != nil {
		t.Fatal(err)
	}
	s := made.Settings()
	s.ManagedLabel, s.ManagedAnnotation = keys, keys
	made, _ = made.Apply(tree.SetSettings(s))
	return rules.World{
		Tree: made, Sources: sources("Propagate", secrets...),
		Excluded: func(name string) bool { return name == "x" },
	}
}

func sources(mode hncv1alpha2.SynchronizationMode, secrets ...string) *propagate.Sources {
	r := propagate.Rules{Modes: map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: mode}}
	out := propagate.NewSources(r)
	for _, at := range secrets {
		namespace, says, _ := strings.Cut(at, ":")
		key := hncv1alpha2.AnnotationTreeSelect
		if says == "team" || says == "other" {
			key = hncv1alpha2.AnnotationSelect
		}
		out = out.With(r.NewSource(propagate.Object{Kind: secret, Namespace: namespace, Name: "x", Annotations: map[string]string{key: says}}))
	}
	return out
}

// brief is a verdict in a few words: ok, ok if in a+b, ok if z is gone, ok if b may
// go, 403.
func brief(v rules.Verdict) string {
	if v.Denied != nil {
		return fmt.Sprint(v.Denied.Code)
	}
	out := "ok"
	if len(v.Authorize) > 0 {
		out += " if in " + strings.Join(v.Authorize, "+")
	}
	if v.Confirm != "" {
		out += " if " + v.Confirm + " is gone"
	}
	if len(v.Deletes) > 0 {
		out += " if " + strings.Join(v.Deletes, "+") + " may go"
	}
	return out
}

func check(t *testing.T, v rules.Verdict, want, says string) {
	t.Helper()
	if got := brief(v); got != want {
		t.Fatalf("got %q, want %q: %+v", got, want, v.Denied)
	}
	if v.Denied != nil && (v.Denied.Reason == "" || !strings.Contains(v.Denied.Message, says)) {
		t.Errorf("%s says %q, want %q in it", v.Denied.Reason, v.Denied.Message, says)
	}
}

func pairs(key, value string) []hncv1alpha2.MetaKVP {
	return []hncv1alpha2.MetaKVP{{Key: key, Value: value}}
}

func TestHierarchyConfiguration(t *testing.T) {
	t.Parallel()
	below := func(parent string) *spec { return &spec{Parent: parent} }
	tests := []struct {
		name    string
		tree    string
		secrets []string
		of      string
		spec    *spec
		want    string
		says    string
	}{
		{"an excluded namespace has none", "!x", nil, "x", &spec{}, "403", `"x" is not managed`},
		{"an excluded namespace is no parent", "!x, a", nil, "a", below("x"), "403", "cannot be a parent"},
		{"a key that is none", "a", nil, "a", &spec{Labels: pairs("not a key", "")}, "422", "no key of a label"},
		{"a label that is not managed", "a", nil, "a", &spec{Labels: pairs("other", "")}, "422", `the label "other"`},
		{"a label that cannot have the value", "a", nil, "a", &spec{Labels: pairs("team", "a b")}, "422", "cannot be"},
		{"an annotation that is not managed", "a", nil, "a", &spec{Annotations: pairs("other", "")}, "422", `the annotation "other"`},
		{"a label that has a source give way", "a <- b", []string{"a:team", "b"}, "a", &spec{Labels: pairs("team", "red")}, "409", "Secret b/x by that in a"},
		{"a label that does not", "a <- b", []string{"a:other", "b"}, "a", &spec{Labels: pairs("team", "red")}, "ok", ""},
		{"a label in a subnamespace, which has those of its anchor", "a <- *b", []string{"a:team", "b"}, "b", &spec{Parent: "a", Labels: pairs("team", "red")}, "ok", ""},
		{"a managed label and annotation", "a", nil, "a", &spec{Labels: pairs("team", "a"), Annotations: pairs("team", "a b")}, "ok", ""},
		{"a namespace that is not known yet", "a", nil, "new", below("a"), "503", "try again"},
		{"below a halted ancestor", "?z <- a <- b, c", nil, "b", below("c"), "403", `"a" is halted`},
		{"a halted namespace itself", "a <- b <- a, c", nil, "a", below("c"), "ok if in b+c", ""},
		{"an external namespace", "~e, a", nil, "e", below("a"), "403", "managed by somebody else"},
		{"the same parent again", "a <- b", nil, "b", &spec{Parent: "a", AllowCascadingDeletion: true}, "ok", ""},
		{"another parent for a subnamespace", "a <- *b, c", nil, "b", below("c"), "409", "subnamespace of"},
		{"a parent that does not exist", "a", nil, "a", below("z"), "403", "does not exist"},
		{"itself", "a", nil, "a", below("a"), "409", "a"},
		{"a cycle", "a <- b <- c", nil, "a", below("c"), "409", "c -> b -> a"},
		{"a source that would give way", "a, b <- c", []string{"a", "c"}, "b", below("a"), "409", "Secret c/x by that in a"},
		{"all sources that would give way are named", "a, b <- *c, b <- d", []string{"a", "c", "d"}, "b", below("a"), "409", "Secret c/x by that in a, Secret d/x by that in a"},
		{"a source that stays, by its exception", "a, b <- c", []string{"a:!b", "c"}, "b", below("a"), "ok if in a", ""},
		{"sources in the subtree that a new label sets at odds", "a, b <- c", []string{"b:a", "c"}, "b", below("a"), "409", "Secret c/x by that in b"},
		{"sources that were at odds before", "a, b <- c", []string{"b", "c"}, "b", below("a"), "ok if in a", ""},
		{"a root into a tree", "a <- b, c", nil, "c", below("b"), "ok if in b", ""},
		{"out of a tree", "a <- b <- c", nil, "c", below(""), "ok if in a", ""},
		{"from a tree to another", "a <- b <- c, d <- e", nil, "c", below("e"), "ok if in a+e", ""},
		{"within a tree", "a <- b <- c, b <- d, a <- e", nil, "c", below("d"), "ok if in b", ""},
		{"up in a tree", "a <- b <- c", nil, "c", below("a"), "ok if in a", ""},
		{"away from an excluded parent", "!x <- b, a", nil, "b", below("a"), "ok if in a", ""},
		{"away from a missing parent", "?z <- b, a", nil, "b", below("a"), "ok if in a if z is gone", ""},
		{"away from a missing parent to be a root", "?z <- b", nil, "b", below(""), "ok if z is gone", ""},
		{"a delete is like no parent", "a <- b <- c", nil, "c", nil, "ok if in a", ""},
		{"a delete in a root", "a <- b", nil, "a", nil, "ok", ""},
		{"a delete below a halted ancestor", "?z <- a <- b", nil, "b", nil, "403", "halted"},
		{"a delete in a subnamespace changes no parent", "a <- *b", nil, "b", nil, "ok", ""},
		{"a delete in a namespace that ends", "a <- -b", nil, "b", nil, "ok", ""},
		{"a delete in an excluded namespace", "a <- !x", nil, "x", nil, "ok", ""},
		{"a delete in a namespace that is gone", "a", nil, "b", nil, "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check(t, world(t, tt.tree, tt.secrets...).HierarchyConfiguration(tt.of, tt.spec), tt.want, tt.says)
		})
	}
}

func TestAnchor(t *testing.T) {
	t.Parallel()
	illegal := hncv1alpha2.SubnamespaceAnchorSpec{Labels: pairs("other", "")}
	red := hncv1alpha2.SubnamespaceAnchorSpec{Labels: pairs("team", "red")}
	tests := []struct {
		name     string
		tree     string
		secrets  string
		op       rules.Operation
		in, of   string
		spec     hncv1alpha2.SubnamespaceAnchorSpec
		want     string
		says     string
		takesSub bool
	}{
		{name: "a new one", tree: "a", op: rules.Create, in: "a", of: "new", want: "ok"},
		{name: "no name of a namespace", tree: "a", op: rules.Create, in: "a", of: "a.b", want: "422", says: "no name of a namespace"},
		{name: "a label that is not managed", tree: "a", op: rules.Create, in: "a", of: "b", spec: illegal, want: "422", says: "other"},
		{name: "the same on an update", tree: "a <- *b", op: rules.Update, in: "a", of: "b", spec: illegal, want: "422", says: "other", takesSub: true},
		{name: "the same on a delete", tree: "a <- *b", op: rules.Delete, in: "a", of: "b", spec: illegal, want: "ok if b may go", takesSub: true},
		{name: "in an excluded namespace", tree: "!x", op: rules.Create, in: "x", of: "b", want: "403", says: "cannot have subnamespaces"},
		{name: "with an excluded name", tree: "a, !x", op: rules.Create, in: "a", of: "x", want: "403", says: "cannot be a subnamespace"},
		{name: "with a reserved name", tree: "a", op: rules.Create, in: "a", of: "x-system", want: "403", says: "reserved"},
		{name: "with a reserved name that a namespace has", tree: "a, x-system", op: rules.Create, in: "a", of: "x-system", want: "409", says: "already"},
		{name: "for a subnamespace that exists and whose name is reserved now", tree: "a <- /x-system", op: rules.Create, in: "a", of: "x-system", want: "ok"},
		{name: "with the name of a namespace", tree: "a, b", op: rules.Create, in: "a", of: "b", want: "409", says: "already"},
		{name: "with the name of a missing parent", tree: "a, ?b <- c, b <- d", op: rules.Create, in: "a", of: "b", want: "ok if in c+d"},
		{name: "of a missing parent whose orphans have sources that would give way", tree: "a, ?b <- c", secrets: "a c", op: rules.Create, in: "a", of: "b", want: "409", says: "Secret c/x by that in a"},
		{name: "with a label that has a source give way", tree: "a <- *b", secrets: "a:team b", op: rules.Update, in: "a", of: "b", spec: red, want: "409", says: "Secret b/x by that in a", takesSub: true},
		{name: "with a label that does not", tree: "a <- *b", secrets: "a:other b", op: rules.Update, in: "a", of: "b", spec: red, want: "ok", takesSub: true},
		{name: "the missing one with a label that has a source give way", tree: "a <- /b", secrets: "a:team b", op: rules.Create, in: "a", of: "b", spec: red, want: "409", says: "Secret b/x by that in a"},
		{name: "with the name of somebody else's subnamespace", tree: "a, c <- *b", op: rules.Create, in: "a", of: "b", want: "409", says: "already"},
		{name: "the missing one of a subnamespace", tree: "a <- /b", op: rules.Create, in: "a", of: "b", want: "ok"},
		{name: "an update", tree: "a <- *b", op: rules.Update, in: "a", of: "b", want: "ok", takesSub: true},
		{name: "a delete", tree: "a <- *b", op: rules.Delete, in: "a", of: "b", want: "ok if b may go", takesSub: true},
		{name: "a delete with namespaces below", tree: "a <- *b <- c", op: rules.Delete, in: "a", of: "b", want: "403", says: "(c)"},
		{name: "a delete with namespaces below that cascades", tree: "a <- +*b <- c", op: rules.Delete, in: "a", of: "b", want: "ok if b may go", takesSub: true},
		{name: "a delete below one that cascades", tree: "+a <- *b <- c", op: rules.Delete, in: "a", of: "b", want: "ok if b may go", takesSub: true},
		{name: "a delete of one that is at odds", tree: "b <- c, a <- @b", op: rules.Delete, in: "a", of: "b", want: "ok"},
		{name: "a delete of one whose namespace is missing", tree: "a <- *?b", op: rules.Delete, in: "a", of: "b", want: "ok"},
		{name: "a delete of one whose namespace ends already", tree: "a <- -*b", op: rules.Delete, in: "a", of: "b", want: "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := world(t, tt.tree, strings.Fields(tt.secrets)...)
			check(t, w.Anchor(tt.op, tt.in, tt.of, tt.spec), tt.want, tt.says)
			if got := w.DeletesSubnamespace(tt.in, tt.of); got != tt.takesSub {
				t.Errorf("a delete takes the subnamespace with it: %v", got)
			}
		})
	}
}

// TestCascade looks at which namespaces are asked about before something goes that they
// would go with. Those in the list are labelled as protected.
func TestCascade(t *testing.T) {
	t.Parallel()
	const marked = "holdfast.dev/marked"
	tests := []struct {
		name, tree, labelled, label string
		anchor, namespace           string // what the delete of b's anchor and of a get
	}{
		{"an anchor takes its subnamespace, labelled or not", "a <- *b", "", marked, "ok if b may go", "403"},
		{"below it only what is labelled is asked about", "+a <- *b <- *c, b <- *d <- *e", "c e", marked, "ok if b+c+e may go", "ok if c+e may go"},
		{"as what is protected by any label", "+a <- *b <- *c", "c", "holdfast.dev/deletion-protected", "ok if b+c may go", "ok if c may go"},
		{"by that of Karmada", "+a <- *b <- *c", "c", "resourcetemplate.karmada.io/deletion-protected", "ok if b+c may go", "ok if c may go"},
		{"by that of OpenKruise", "+a <- *b <- *c", "c", "policy.kruise.io/delete-protection", "ok if b+c may go", "ok if c may go"},
		{"but not by another one", "+a <- *b <- *c", "c", "example.com/any", "ok if b may go", "ok"},
		{"full namespaces stay", "+a <- *b <- c <- *d", "c d", marked, "ok if b may go", "ok"},
		{"and those whose anchor is missing", "+a <- *b <- /c", "c", marked, "ok if b may go", "ok"},
		{"and what is going already", "+a <- *b <- -*c", "c", marked, "ok if b may go", "ok"},
		{"a cycle has an end", "+b <- +*a <- *b", "a b", marked, "ok if b+a may go", "ok if b may go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := labelled(t, world(t, tt.tree), tt.label, strings.Fields(tt.labelled)...)
			check(t, w.Anchor(rules.Delete, "a", "b", hncv1alpha2.SubnamespaceAnchorSpec{}), tt.anchor, "")
			check(t, w.Namespace(rules.Delete, "a", meta(), meta()), tt.namespace, "")
		})
	}
}

func TestCascade_manyAreNotAllAskedAbout(t *testing.T) {
	t.Parallel()
	var chains, names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("c%d", i))
		chains = append(chains, "b <- *"+names[i])
	}
	w := labelled(t, world(t, "+a <- *b, "+strings.Join(chains, ", ")), "holdfast.dev/marked", names...)
	if got := len(w.Anchor(rules.Delete, "a", "b", hncv1alpha2.SubnamespaceAnchorSpec{}).Deletes); got < 10 || got > 30 {
		t.Errorf("%d are asked about, want a few", got)
	}
}

// labelled gives namespaces a label.
func labelled(t *testing.T, w rules.World, label string, names ...string) rules.World {
	t.Helper()
	for _, name := range names {
		o := w.Tree.Get(name)
		with := &tree.Object{Labels: map[string]string{label: "Always"}, Annotations: map[string]string{}, Terminating: o.Terminating}
		if o.Subnamespace {
			with.Annotations[hncv1alpha2.AnnotationSubnamespaceOf] = o.Parent
		}
		w.Tree, _ = w.Tree.Apply(tree.SetNamespace(name, with))
	}
	return w
}

func meta(labels ...string) rules.Meta {
	m := rules.Meta{Labels: map[string]string{}, Annotations: map[string]string{}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		if note, is := strings.CutPrefix(key, "@"); is {
			m.Annotations["hnc.x-k8s.io/"+note] = value
			continue
		}
		if !strings.Contains(key, ".") {
			key = "hnc.x-k8s.io/" + key
		}
		m.Labels[key] = value
	}
	return m
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	const depth = "a.tree.hnc.x-k8s.io/depth"
	tests := []struct {
		name          string
		tree          string
		op            rules.Operation
		of            string
		before, after rules.Meta
		want          string
		says          string
	}{
		{"create a managed one with its label", "a", rules.Create, "b", meta(), meta("included-namespace=true"), "ok", ""},
		{"create a managed one with another value", "a", rules.Create, "b", meta(), meta("included-namespace=no"), "403", `must be "true"`},
		{"create an excluded one with the label", "!x", rules.Create, "x", meta(), meta("included-namespace=true"), "403", "not managed"},
		{"create an excluded one without", "!x", rules.Create, "x", meta(), meta(), "ok", ""},
		{"take the label away", "b", rules.Update, "b", meta("included-namespace=true"), meta(), "403", `must be "true"`},
		{"put it right", "b", rules.Update, "b", meta("included-namespace=no"), meta("included-namespace=true"), "ok", ""},
		{"leave it wrong", "b", rules.Update, "b", meta("included-namespace=no"), meta("included-namespace=no"), "ok", ""},
		{"leave it missing", "b", rules.Update, "b", meta(), meta("other.com/x=y"), "ok", ""},
		{"take it from an excluded one", "!x", rules.Update, "x", meta("included-namespace=true"), meta(), "ok", ""},
		{"give it to an excluded one", "!x", rules.Update, "x", meta(), meta("included-namespace=true"), "403", "not managed"},
		{"exclude one in the list", "!x", rules.Update, "x", meta(), meta("excluded-namespace=true"), "ok", ""},
		{"exclude another one", "b", rules.Update, "b", meta(), meta("excluded-namespace=true"), "403", "not in the list"},
		{"exclude another one from the start", "b", rules.Create, "c", meta(), meta("included-namespace=true", "excluded-namespace=x"), "403", "not in the list"},
		{"leave a wrong exclusion", "b", rules.Update, "b", meta("excluded-namespace=true"), meta("excluded-namespace=true", "other.com/x=y"), "ok", ""},
		{"take a wrong exclusion away", "b", rules.Update, "b", meta("excluded-namespace=true"), meta(), "ok", ""},
		{"create with a tree label", "a", rules.Create, "b", meta(), meta("included-namespace=true", depth+"=1"), "403", depth},
		{"add a tree label", "a <- b", rules.Update, "b", meta(), meta(depth + "=1"), "403", depth},
		{"change a tree label", "a <- b", rules.Update, "b", meta(depth + "=1"), meta(depth + "=2"), "403", depth},
		{"take a tree label away", "a <- b", rules.Update, "b", meta(depth + "=1"), meta(), "403", depth},
		{"keep a tree label", "a <- b", rules.Update, "b", meta(depth + "=1"), meta(depth+"=1", "other.com/x=y"), "ok", ""},
		{"make one with a parent external", "a <- b", rules.Update, "b", meta(), meta("@managed-by=other"), "403", `has the parent "a"`},
		{"make a root external", "a <- b", rules.Update, "a", meta(), meta("@managed-by=other"), "ok", ""},
		{"say that HNC manages it", "a <- b", rules.Update, "b", meta(), meta("@managed-by=hnc.x-k8s.io"), "ok", ""},
		{"delete a plain one", "a <- b", rules.Delete, "a", meta(), meta(), "ok", ""},
		{"delete a subnamespace", "a <- *b", rules.Delete, "b", meta("@subnamespace-of=a"), meta(), "403", `its anchor in "a"`},
		{"delete a subnamespace without anchor", "a <- /b", rules.Delete, "b", meta("@subnamespace-of=a"), meta(), "ok", ""},
		{"delete one with subnamespaces", "a <- *b, a <- c", rules.Delete, "a", meta(), meta(), "403", "(b)"},
		{"delete one with subnamespaces that cascades", "+a <- *b", rules.Delete, "a", meta(), meta(), "ok", ""},
		{"delete one with subnamespaces below one that cascades", "+z <- a <- *b", rules.Delete, "a", meta(), meta(), "ok", ""},
		{"delete one that is not known", "a", rules.Delete, "b", meta(), meta(), "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check(t, world(t, tt.tree).Namespace(tt.op, tt.of, tt.before, tt.after), tt.want, tt.says)
		})
	}
}

// TestNamespace_everyChangeOfTheLabelOfManagedOnes has all of them: where there is
// none, the label is "none".
func TestNamespace_everyChangeOfTheLabelOfManagedOnes(t *testing.T) {
	t.Parallel()
	with := func(value string) rules.Meta {
		switch value {
		case "none":
			return meta()
		case "empty":
			value = ""
		}
		return meta("included-namespace=" + value)
	}
	for _, tt := range []struct{ of, before, allowed, refused string }{
		{"a", "none", "none true", "no empty"},
		{"a", "true", "true", "none no empty"},
		{"a", "no", "no true", "none empty"},
		{"a", "empty", "empty true", "none no"},
		{"x", "none", "none", "true no empty"},
		{"x", "true", "true none", "no empty"},
		{"x", "no", "no none", "true empty"},
		{"x", "empty", "empty none", "true no"},
	} {
		for want, values := range map[string]string{"ok": tt.allowed, "403": tt.refused} {
			for after := range strings.FieldsSeq(values) {
				t.Run(tt.of+" from "+tt.before+" to "+after, func(t *testing.T) {
					t.Parallel()
					w := world(t, "a, !x")
					check(t, w.Namespace(rules.Update, tt.of, with(tt.before), with(after)), want, "managed")
					if tt.before == "none" {
						check(t, w.Namespace(rules.Create, tt.of, meta(), with(after)), want, "managed")
					}
				})
			}
		}
	}
}

func TestNamespace_withTheNameOfAnExternalOne(t *testing.T) {
	t.Parallel()
	w := world(t, "a")
	w.Tree, _ = w.Tree.Apply(tree.SetNamespace("e", &tree.Object{
		Labels:      map[string]string{"far.tree.hnc.x-k8s.io/depth": "1", "e.tree.hnc.x-k8s.io/depth": "0"},
		Annotations: map[string]string{hncv1alpha2.AnnotationManagedBy: "somebody"},
	}))
	check(t, w.Namespace(rules.Create, "far", meta(), meta("included-namespace=true")), "409", `external namespace "e"`)
	check(t, w.Namespace(rules.Create, "near", meta(), meta("included-namespace=true")), "ok", "")
}

func TestIncludedLabel(t *testing.T) {
	t.Parallel()
	w := world(t, "!x")
	for name, want := range map[string]bool{"a": true, "x": false} {
		if got := w.IncludedLabel(name, meta()); got != want {
			t.Errorf("%s gets it: %v", name, got)
		}
		if w.IncludedLabel(name, meta("included-namespace=no")) {
			t.Errorf("%s gets it although it has one", name)
		}
	}
}

func TestHNCConfiguration(t *testing.T) {
	t.Parallel()
	resource := func(name, kind string) rules.Resource {
		return rules.Resource{ResourceSpec: hncv1alpha2.ResourceSpec{Resource: name}, Served: true, Namespaced: true, Kind: schema.GroupKind{Kind: kind}}
	}
	role := resource("role", "Role")
	role.Kind.Group = "rbac.authorization.k8s.io"
	nodes := resource("nodes", "Node")
	nodes.Namespaced = false
	tests := []struct {
		name      string
		op        rules.Operation
		config    string
		resources []rules.Resource
		mode      hncv1alpha2.SynchronizationMode // until now
		want      string
		says      string
	}{
		{"a delete", rules.Delete, "config", nil, "", "403", "cannot be deleted"},
		{"a delete of another name", rules.Delete, "other", nil, "", "ok", ""},
		{"a resource", rules.Update, "config", []rules.Resource{resource("configmaps", "ConfigMap")}, "Ignore", "ok", ""},
		{"no such resource", rules.Create, "config", []rules.Resource{{ResourceSpec: hncv1alpha2.ResourceSpec{Group: "g", Resource: "r"}}}, "Ignore", "422", "no resource r.g"},
		{"a resource of several groups", rules.Create, "config", []rules.Resource{{ResourceSpec: hncv1alpha2.ResourceSpec{Resource: "r"}, Candidates: "r.a, r.b"}}, "Ignore", "422", "say which of r.a, r.b"},
		{"a resource of the cluster", rules.Update, "config", []rules.Resource{nodes}, "Ignore", "422", "not in namespaces"},
		{"roles, in any spelling", rules.Update, "config", []rules.Resource{role}, "Ignore", "422", "always propagated"},
		{
			"one resource twice, in two spellings", rules.Update, "config", []rules.Resource{resource("secrets", "Secret"), resource("secret", "Secret")},
			"Propagate", "422", "secrets and secret are the same",
		},
		{"a kind with sources at odds", rules.Update, "config", []rules.Resource{resource("secrets", "Secret")}, "Ignore", "409", "Secret b/x by that in a"},
		{"a kind that was propagated before", rules.Update, "config", []rules.Resource{resource("secrets", "Secret")}, "Propagate", "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := world(t, "a <- b, a <- c")
			w.Sources = sources(tt.mode)
			check(t, w.HNCConfiguration(tt.op, tt.config, tt.resources, sources("Propagate", "a:b", "b", "c")), tt.want, tt.says)
		})
	}
}

// object is a Secret x, with annotations of HNC as "@treeSelect=a", its content as
// "data", and the rest labels; nil if nothing is said of it.
func object(says ...string) *unstructured.Unstructured {
	if says == nil {
		return nil
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{}}}
	u.SetName("x")
	labels, annotations := map[string]string{}, map[string]string{}
	for _, s := range says {
		key, value, _ := strings.Cut(s, "=")
		switch note, is := strings.CutPrefix(key, "@"); {
		case key == "from":
			labels["hnc.x-k8s.io/inherited-from"] = value
		case is && strings.Contains(note, "/"):
			annotations[note] = value
		case is:
			annotations["propagate.hnc.x-k8s.io/"+note] = value
		case key == "data":
			u.Object["data"] = map[string]any{"k": value}
		case key == "owner":
			u.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(value)}})
		case key == "going":
			u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		case key == "status":
			u.Object["status"] = value
		default:
			labels[key] = value
		}
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

func says(s ...string) []string { return s }

func TestObject(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		in            string
		secrets       []string
		before, after []string // nil for none
		ending        bool
		want          string
		message       string
	}{
		{"a plain source", "a", nil, nil, says(""), false, "ok", ""},
		{"an exception", "a", nil, nil, says("@treeSelect=!b"), false, "ok", ""},
		{"an annotation that there is not", "a", nil, nil, says("@selects=b"), false, "400", "propagate.hnc.x-k8s.io/selects"},
		{"an annotation of another part that there is not", "a", nil, nil, says("@other.hnc.x-k8s.io/x=b"), false, "400", "other.hnc.x-k8s.io/x"},
		{"an annotation with a longer prefix", "a", nil, nil, says("@a.b.hnc.x-k8s.io/x=b"), false, "ok", ""},
		{"a treeSelect with nothing behind the comma", "a", nil, nil, says("@treeSelect=b,"), false, "400", "between the commas"},
		{"a treeSelect of two", "a", nil, nil, says("@treeSelect=b,c"), false, "400", "only one namespace"},
		{"a select that cannot be read", "a", nil, nil, says("@select=a b"), false, "400", "select"},
		{"one that could not be read before", "a", nil, says("@none=maybe"), says("@none=maybe", "app=x"), false, "ok", ""},
		{"two exceptions", "a", nil, nil, says("@none=true", "@all=true"), false, "400", "only one of these"},
		{"two that were there before", "a", nil, says("@none=true", "@all=true"), says("@none=true", "@all=true", "app=x"), false, "ok", ""},
		{"one more", "a", nil, says("@none=true"), says("@none=true", "@all=true"), false, "400", "only one of these"},
		{"a source that would take the place of another", "a", says("b"), nil, says(""), false, "409", "in the namespaces b"},
		{"a source that would take the place of several", "a", says("c", "b"), nil, says(""), false, "409", "in the namespaces b, c"},
		{"a source that leaves that one", "a", says("b"), nil, says("@treeSelect=!b"), false, "ok", ""},
		{"a source that is being deleted takes no place", "a", says("b"), says("going"), says("going", "app=x"), false, "ok", ""},
		{"a delete of a source", "a", says("b"), says(""), nil, false, "ok", ""},
		{"a copy by hand", "b", nil, nil, says("from=a"), false, "403", "of copies only"},
		{"a delete of a copy", "b", nil, says("from=a"), nil, false, "403", `in the namespace "a"`},
		{"a delete of a copy in a namespace that ends", "b", nil, says("from=a"), nil, true, "ok", ""},
		{"a source that becomes a copy", "b", nil, says(""), says("from=a"), false, "403", "cannot be changed"},
		{"a copy that becomes a source", "b", nil, says("from=a"), says(""), false, "403", "cannot be changed"},
		{"a copy of another source", "b", nil, says("from=a"), says("from=c"), false, "403", "cannot be changed"},
		{"other content in a copy", "b", nil, says("from=a", "data=1"), says("from=a", "data=2"), false, "403", `in the namespace "a"`},
		{"another label on a copy", "b", nil, says("from=a"), says("from=a", "app=x"), false, "403", `in the namespace "a"`},
		{"an annotation of HNC on a copy", "b", nil, says("from=a"), says("from=a", "@none=true"), false, "403", `in the namespace "a"`},
		{"an owner of a copy", "b", nil, says("from=a"), says("from=a", "owner=1"), false, "403", `in the namespace "a"`},
		{"another owner of a copy", "b", nil, says("from=a", "owner=1"), says("from=a", "owner=2"), false, "403", `in the namespace "a"`},
		{"an owner that leaves a copy", "b", nil, says("from=a", "owner=1"), says("from=a"), false, "ok", ""},
		{"an owner of a source", "b", nil, says(""), says("owner=1"), false, "ok", ""},
		{"a status on a copy", "b", nil, says("from=a"), says("from=a", "status=x"), false, "ok", ""},
		{"a copy in an excluded namespace", "x", nil, says("from=a"), nil, false, "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after := object(tt.before...), object(tt.after...)
			w := world(t, "a <- b, a <- c, a <- !x", tt.secrets...)
			check(t, w.Object(secret, tt.in, before, after, tt.ending), tt.want, tt.message)
			w.Sources = sources("Ignore", tt.secrets...)
			check(t, w.Object(secret, tt.in, before, after, tt.ending), "ok", "")
		})
	}
}

func TestExcludedNamespaces(t *testing.T) {
	t.Parallel()
	check(t, rules.ExcludedNamespaces(nil), "ok", "")
	check(t, rules.ExcludedNamespaces([]string{"a", "b-1"}), "ok", "")
	for _, name := range []string{"", "*", "re:(", "!a", "A"} {
		check(t, rules.ExcludedNamespaces([]string{"a", name}), "422", "no name of a namespace")
	}
}
