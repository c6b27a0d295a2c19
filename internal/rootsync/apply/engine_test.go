// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func crd(group, kind string) string {
	plural := strings.ToLower(kind) + "s"
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " + plural + "." + group + "}," +
		" spec: {group: " + group + ", scope: Namespaced, names: {plural: " + plural + ", singular: " + strings.ToLower(kind) + ", kind: " + kind + ", listKind: " + kind + "List}," +
		" versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}"
}

// thirty objects of which some need others, in an order that is of no use.
func thirty(ns string) (out []string) {
	for i := range 20 {
		out = append(out, configMap(ns, fmt.Sprint("c", i), "v"))
	}
	for i := range 8 {
		out = append(out, fmt.Sprintf("{apiVersion: thirty.example.org/v1, kind: Gadget, metadata: {name: g%d, namespace: %s}, spec: {n: %d}}", i, ns, i))
	}
	return append(out, crd("thirty.example.org", "Gadget"), namespace(ns))
}

func TestEngine_appliesAllOfADeclarationWhateverNeedsWhat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gadgets := schema.GroupKind{Group: "thirty.example.org", Kind: "Gadget"}
	e := r.start("thirty", nil, gadgets)
	s := e.set("c1", thirty("thirty")...)
	if len(s.Errors) > 0 || s.Progress.Ready != 30 {
		t.Fatalf("got %+v, %v", s.Progress, errorsOf(s))
	}
	if got := writes(r.asked()); len(got) != 30 {
		t.Errorf("got %d writes: %v", len(got), got)
	}
	if got := e.inventory(); len(got) != 30 {
		t.Errorf("the inventory has %v", got)
	}
	one := r.get("thirty.example.org/v1/Gadget", "thirty", "g3")
	want := object.Stamp(object.Declared{Object: one, Path: "023.yaml"}, "thirty", version("c1"))
	if diff := cmp.Diff(want.GetAnnotations(), one.GetAnnotations()); diff != "" {
		t.Error(diff)
	}

	t.Log("the same again")
	e.set("c2", thirty("thirty")...)
	if got := r.asked(); len(got) > 0 {
		t.Errorf("got %v", got)
	}

	t.Log("one of them changes")
	changed := thirty("thirty")
	changed[4] = configMap("thirty", "c4", "w")
	e.set("c3", changed...)
	if diff := cmp.Diff([]string{"PATCH /api/v1/namespaces/thirty/configmaps/c4"}, r.asked()); diff != "" {
		t.Error(diff)
	}

	t.Log("another process")
	e = e.again(gadgets)
	e.set("c3", changed...)
	got := r.asked()
	if len(writes(got)) > 0 || slices.ContainsFunc(got, func(q string) bool { return strings.HasPrefix(q, "PUT ") }) {
		t.Errorf("got %v", got)
	}

	t.Log("another commit, to be exact")
	d := declared(t, changed...)
	e.Set(exact(d, "c4"))
	e.settled("c4")
	if got := writes(r.asked()); len(got) != 30 {
		t.Errorf("got %d writes: %v", len(got), got)
	}

	t.Log("none of them")
	e.set("c5", namespace("thirty"))
	r.Eventually(e.inventory, patience, often).Should(gomega.HaveLen(1))
	if got := r.get("v1/ConfigMap", "thirty", "c1"); got != nil {
		t.Errorf("there is %v", got)
	}
	if got := r.get("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "gadgets.thirty.example.org"); got != nil {
		t.Errorf("there is %v", got)
	}
}

func TestEngine_oneWaitsForAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("waits", nil)
	on := func(kind, name string) string {
		return "config.kubernetes.io/depends-on: /namespaces/" + ns + "/" + kind + "/" + name
	}
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: " + ns + "}, spec: {containers: [{name: c, image: i}]}}"
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: " + ns + "}, data: 7}"
	e.Set(timed(declared(t, pod, bad,
		configMap(ns, "first", "v"), configMap(ns, "second", "v", on("ConfigMap", "first")),
		configMap(ns, "after-pod", "v", on("Pod", "p")), configMap(ns, "after-bad", "v", on("ConfigMap", "bad")),
		configMap(ns, "after-skipped", "v", on("ConfigMap", "after-bad")),
		configMap(ns, "one", "v", on("ConfigMap", "two")), configMap(ns, "two", "v", on("ConfigMap", "one")),
		configMap(ns, "outside", "v", on("Secret", "none")),
	), "c1", "2s"))
	s := e.settled("c1")
	var got []string
	for _, text := range errorsOf(s) {
		got = append(got, strings.ReplaceAll(text, ns, "NS"))
	}
	i := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "failed to apply ConfigMap, NS/bad") })
	if i < 0 {
		t.Fatalf("got %v", got)
	}
	got = slices.Delete(got, i, i+1)
	want := []string{
		"KNV2009: cyclic dependency:\n- /namespaces/NS/ConfigMap/one -> /namespaces/NS/ConfigMap/two\n- /namespaces/NS/ConfigMap/two -> /namespaces/NS/ConfigMap/one",
		"KNV2009: external dependency: /namespaces/NS/ConfigMap/outside -> /namespaces/NS/Secret/none: only an object of the same source can be waited for",
		"KNV2009: skipped apply of ConfigMap, NS/after-bad: dependency apply actuation failed: NS_bad__ConfigMap",
		"KNV2009: skipped apply of ConfigMap, NS/after-pod: dependency apply reconcile timeout: NS_p__Pod",
		"KNV2009: skipped apply of ConfigMap, NS/after-skipped: dependency apply actuation skipped: NS_after-bad__ConfigMap",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if dataOf(r.get("v1/ConfigMap", ns, "second")) != "v" {
		t.Error("what waited for what is there was not applied")
	}

	t.Log("what was waited for becomes ready after all")
	status := `{status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
	p := r.get("v1/Pod", ns, "p")
	r.patchStatus(p, status)
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "after-pod")) }, patience, often).Should(gomega.Equal("v"))
}

func TestEngine_aMissingNamespaceAppears(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.start("missing", nil)
	s := e.set("c1", configMap("missing-one", "a", "v"), configMap("missing-one", "b", "v"), configMap("missing-two", "a", "v"))
	want := []string{
		`KNV2009: failed to apply ConfigMap, missing-one/a: namespaces "missing-one" not found`,
		`KNV2009: failed to apply ConfigMap, missing-one/b: namespaces "missing-one" not found`,
		`KNV2009: failed to apply ConfigMap, missing-two/a: namespaces "missing-two" not found`,
	}
	if diff := cmp.Diff(want, errorsOf(s)); diff != "" {
		t.Error(diff)
	}
	if len(s.Missing["missing-one"]) != 2 || len(s.Missing["missing-two"]) != 1 {
		t.Errorf("missing: %v", s.Missing)
	}
	r.asked()
	r.e.Apply(t, "", namespace("missing-one"))
	t.Cleanup(func() {
		_ = r.e.Client.Delete(context.WithoutCancel(t.Context()), named("v1/Namespace", "", "missing-one"))
	})
	r.Eventually(e.errors, patience, often).Should(gomega.HaveLen(1))
	if dataOf(r.get("v1/ConfigMap", "missing-one", "b")) != "v" {
		t.Error("it was not applied")
	}
	got := writes(r.asked())
	slices.Sort(got)
	if diff := cmp.Diff([]string{"PATCH /api/v1/namespaces/missing-one/configmaps/a", "PATCH /api/v1/namespaces/missing-one/configmaps/b"}, got); diff != "" {
		t.Error(diff)
	}
}
