// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

func TestCompletion_condition(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"is on a subnamespace once it has all", `
			tree a
			put cm a/x v=1
			anchor a/s
			see complete s: True Copied
			see copies cm x: a s<a
		`},
		{"is on a namespace that gets a parent, or another one", `
			tree a b c
			parent c=a
			see complete c: True Copied
			parent c=b
			see complete c: True Copied
		`},
		{"is not on a root, which waits for nothing", `
			tree a b<a
			see complete b: True Copied
			fence
			see complete a: -
		`},
	})
	runLong(t, []row{
		{"is on a subnamespace into which nothing is copied", `
			tree a s^a
			see complete s: True Copied
		`},
		{"stays as it is on one that becomes a root", `
			tree a b<a
			see complete b: True Copied
			parent b=
			see labels b: b=0
			fence
			see complete b: True Copied
		`},
	})
}

// A replica that does not know yet that it leads no more writes such a condition too.
func TestCompletion_conditionOfSomebodyElseIsPutBack(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run("tree a s^a\nsee complete s: True Copied")
	for _, conditions := range []string{
		`[{"type":"holdfast.dev/PropagationComplete","status":"False","reason":"CannotCopy","message":"by somebody"}]`,
		`[{"$patch":"delete","type":"holdfast.dev/PropagationComplete"}]`,
	} {
		ns := &corev1.Namespace{}
		ns.Name = r.name("s")
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":`+conditions+`}}`))
		if err := r.Client.Status().Patch(t.Context(), ns, patch); err != nil {
			t.Fatal(err)
		}
		r.run("see complete s: True Copied")
	}
}

// What users of HNC asked for most: to know when a subnamespace has everything.
// Whoever sees the condition finds all copies.
func TestCompletion_isNotSaidTooEarly(t *testing.T) {
	t.Parallel()
	r := shared(t)
	const sources, subnamespaces = 40, 5
	r.run("tree a")
	for i := range sources {
		r.put(r.Client, "cm", fmt.Sprintf("a/x%d", i), nil)
	}
	var mu sync.Mutex
	had := map[string]int{} // copies that the first who saw the condition found
	r.watch(&corev1.NamespaceList{}, func(_ string, o client.Object) {
		ns, is := o.(*corev1.Namespace)
		if !is {
			return
		}
		complete := slices.ContainsFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == v1alpha1.ConditionPropagationComplete && c.Status == corev1.ConditionTrue
		})
		mu.Lock()
		_, known := had[ns.Name]
		mu.Unlock()
		if !complete || known {
			return
		}
		l := &corev1.ConfigMapList{}
		if err := r.Client.List(r.t.Context(), l, client.InNamespace(ns.Name), client.HasLabels{hncv1alpha2.LabelInheritedFrom}); err != nil {
			return // the test is over
		}
		mu.Lock()
		had[ns.Name] = len(l.Items)
		mu.Unlock()
	})
	want := map[string]int{}
	for i := range subnamespaces {
		r.run(fmt.Sprintf("anchor a/s%d", i))
		want[r.name(fmt.Sprintf("s%d", i))] = sources
	}
	r.Eventually(func() string {
		mu.Lock()
		defer mu.Unlock()
		got := map[string]int{}
		for name := range want {
			if n, known := had[name]; known {
				got[name] = n
			}
		}
		return gocmp.Diff(want, got)
	}, patience, often).Should(gomega.BeEmpty())
}

// A subnamespace has all of its labels from the first moment, so that what goes by
// them never misses one: Pod Security, network policies, webhooks.
func TestBirth_subnamespacesHaveAllLabelsInTheFirstWrite(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run(`
		tree a b<a
		set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}],"annotations":[{"key":"team.example.com/note","value":"n"}]}}
		see label ns b team.example.com/colour: red
		set ns b {"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}
		fence
	`)
	var mu sync.Mutex
	var first *corev1.Namespace
	changes := sets.New[string]()
	r.watch(&corev1.NamespaceList{}, func(_ string, o client.Object) {
		ns, is := o.(*corev1.Namespace)
		if !is || ns.Name != r.name("s") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = ns
		}
		changes.Insert(fmt.Sprint(ns.Labels, ns.Annotations))
	})
	r.run(`
		set anchor b/s {"spec":{"labels":[{"key":"team.example.com/shape","value":"round"}]}}
		see anchor b/s: Ok
		see complete s: True Copied
		fence
	`)
	mu.Lock()
	defer mu.Unlock()
	if first == nil {
		t.Fatal("nobody saw the subnamespace")
	}
	depth := hncv1alpha2.LabelTreeDepthSuffix
	want := map[string]string{
		r.name("a") + depth: "2", r.name("b") + depth: "1", r.name("s") + depth: "0",
		hncv1alpha2.LabelIncludedNamespace: "true", "kubernetes.io/metadata.name": r.name("s"),
		"team.example.com/colour": "red", "team.example.com/shape": "round", "pod-security.kubernetes.io/enforce": "restricted",
	}
	if diff := gocmp.Diff(want, first.Labels); diff != "" {
		t.Errorf("labels at birth (-want +got):\n%s", diff)
	}
	want = map[string]string{
		hncv1alpha2.AnnotationSubnamespaceOf: r.name("b"), "team.example.com/note": "n", v1alpha1.InheritedPodSecurityAnnotation: "enforce=restricted",
	}
	if owner, err := ownership.Decide(first); err != nil || !owner.Owns(ownership.Anchor(r.name("b"))) || first.Annotations[v1alpha1.ClaimsAnnotation] == "" {
		t.Errorf("at birth it is claimed by %v: %v", owner, err)
	}
	delete(first.Annotations, v1alpha1.ClaimsAnnotation)
	if diff := gocmp.Diff(want, first.Annotations); diff != "" {
		t.Errorf("annotations at birth (-want +got):\n%s", diff)
	}
	if len(changes) != 1 {
		t.Errorf("labels or annotations have changed since: %v", sets.List(changes))
	}
}

// A namespace without RoleBindings is of no use to anybody.
func TestBirth_roleBindingsComeFirst(t *testing.T) {
	t.Parallel()
	r := shared(t)
	const others = 150
	r.run("tree a")
	for i := range others {
		r.put(r.Client, "cm", fmt.Sprintf("a/x%d", i), nil)
	}
	r.put(r.Client, "rb", "a/x", nil)
	r.put(r.Client, "role", "a/x", nil)
	r.run("fence\nanchor a/s\nsee complete s: True Copied")
	version := func(u *unstructured.Unstructured) int {
		n, err := strconv.Atoi(u.GetResourceVersion())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	made, before := version(r.get("rb", "s/x")), 0
	for i := range others {
		if version(r.get("cm", fmt.Sprintf("s/x%d", i))) < made {
			before++
		}
	}
	// Those that workers had begun with may come first.
	if before > 32 {
		t.Errorf("%d of %d ConfigMaps were made before the RoleBinding", before, others)
	}
}
