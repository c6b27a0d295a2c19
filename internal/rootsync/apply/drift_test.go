// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestEngine_putsBackWhatItOwnsAndLeavesWhatItDoesNot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("drift", nil)
	bad := "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: " + ns + "}, data: 7}" // which stops no other
	e.set("c1", configMap(ns, "a", "v"), configMap(ns, "gone", "v"), configMap(ns, "last", "v"), bad)
	value := func(name string) func() string {
		return func() string { return dataOf(r.get("v1/ConfigMap", ns, name)) }
	}

	t.Log("a field of its own")
	r.asked()
	r.patch("v1/ConfigMap", ns, "a", "{data: {k: edited}}")
	r.Eventually(value("a"), patience, often).Should(gomega.Equal("v"))

	t.Log("what says whose it is")
	r.patch("v1/ConfigMap", ns, "a", "{metadata: {labels: {"+object.LabelPartOf+": null}}}")
	r.Eventually(func() string { return r.get("v1/ConfigMap", ns, "a").GetLabels()[object.LabelPartOf] }, patience, often).ShouldNot(gomega.BeEmpty())

	t.Log("all of it")
	if err := r.e.Client.Delete(t.Context(), r.get("v1/ConfigMap", ns, "gone")); err != nil {
		t.Fatal(err)
	}
	r.Eventually(value("gone"), patience, often).Should(gomega.Equal("v"))

	t.Log("a field of somebody else")
	r.asked()
	r.patch("v1/ConfigMap", ns, "a", "{data: {foreign: x}}")
	// Events of one kind are in order.
	r.patch("v1/ConfigMap", ns, "last", "{data: {k: edited}}")
	r.Eventually(value("last"), patience, often).Should(gomega.Equal("v"))
	asked := slices.DeleteFunc(r.asked(), func(q string) bool { return strings.HasSuffix(q, "/bad") })
	if diff := cmp.Diff([]string{"PATCH /api/v1/namespaces/" + ns + "/configmaps/last"}, asked); diff != "" {
		t.Error(diff)
	}
	if got := r.get("v1/ConfigMap", ns, "a"); got.Object["data"].(map[string]any)["foreign"] != "x" {
		t.Errorf("a field of somebody else is gone: %v", got.Object["data"])
	}
}

func TestEngine_aFightIsReportedAndSlowsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("fight", nil)
	e.set("c1", configMap(ns, "a", "v"))
	n := 0
	fights := func() []string {
		n++
		r.patch("v1/ConfigMap", ns, "a", fmt.Sprintf("{data: {k: edited-%d}}", n))
		return e.errors()
	}
	r.Eventually(fights, patience, "200ms").Should(gomega.ContainElement(gomega.HavePrefix("KNV2005: detected excessive object updates, approximately ")))
	r.asked()
	for range 10 {
		fights()
	}
	if got := writes(r.asked()); len(got) > 5 {
		t.Errorf("it goes on as before: %v", got)
	}
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "a")) }, patience, often).Should(gomega.Equal("v"))
}

func TestEngine_twoThatWantOneObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	older := func(o *apply.Options) {
		o.Standing = ownedBy(func(id object.ID) object.Sync {
			if id.Name == "x" {
				return "older"
			}
			return o.Sync
		})
	}
	a, b := r.start("older", older), r.start("younger", older)
	b.Set(timed(declared(t, configMap(ns, "x", "b"), configMap(ns, "own", "b")), "b1", "5s"))
	a.Set(timed(declared(t, configMap(ns, "x", "a")), "a1", "5s"))
	s := b.settled("b1")
	a.settled("a1")
	const want = `KNV1060: The ":root_younger" reconciler detected a management conflict with the ":root_older" reconciler. ` +
		"Remove the object from one of the sources of truth so that the object is only managed by one reconciler."
	if got := errorsOf(s); len(got) != 1 || got[0] != want {
		t.Errorf("got %v", got)
	}
	was := r.get("v1/ConfigMap", ns, "x").GetResourceVersion()
	b.set("b2", configMap(ns, "x", "b"), configMap(ns, "own", "c"))
	a.set("a2", configMap(ns, "x", "a"))
	if got := r.get("v1/ConfigMap", ns, "x"); dataOf(got) != "a" || got.GetResourceVersion() != was {
		t.Errorf("it was written: %v", got)
	}
	if diff := cmp.Diff([]string{"ConfigMap, " + ns + "/own"}, b.inventory()); diff != "" {
		t.Error(diff)
	}

	t.Log("nobody knows which is older")
	unknown := func(o *apply.Options) { o.Standing = nil }
	c, d := r.start("one", unknown), r.start("two", unknown)
	c.set("c1", configMap(ns, "z", "c"))
	if got := errorsOf(d.set("d1", configMap(ns, "z", "d"))); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if got := dataOf(r.get("v1/ConfigMap", ns, "z")); got != "c" {
		t.Errorf("it was taken: %s", got)
	}

	t.Log("the older one goes, and another takes it")
	a.stop()
	took := make(chan struct{})
	e := r.start("third", func(o *apply.Options) {
		o.Standing = ownedBy(func(object.ID) object.Sync {
			select {
			case <-took:
				return "third"
			default:
				return "older"
			}
		})
	})
	e.Set(timed(declared(t, configMap(ns, "x", "e")), "e1", "5s"))
	e.settled("e1")
	uid := r.get("v1/ConfigMap", ns, "x").GetUID()
	close(took)
	e.Observe(object.ID{Kind: "ConfigMap", Namespace: ns, Name: "x"})
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "x")) }, patience, often).Should(gomega.Equal("e"))
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
	if diff := cmp.Diff([]string{"ConfigMap, " + ns + "/x"}, e.inventory()); diff != "" {
		t.Error(diff)
	}
	if got := r.get("v1/ConfigMap", ns, "x").GetUID(); got != uid {
		t.Error("it is another one")
	}
}

func TestEngine_ignoresMutationAndWhatIsNotToBeManaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("ignore", nil)
	const ignore = "client.lifecycle.config.k8s.io/mutation: ignore"
	there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "there"}, Data: map[string]string{"k": "theirs"}}
	if err := r.e.Client.Create(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	e.set("c1", configMap(ns, "made", "v", ignore), configMap(ns, "there", "v", ignore))
	manager := func(name string) func() string {
		return func() string { return r.get("v1/ConfigMap", ns, name).GetAnnotations()[object.AnnotationManager] }
	}
	if got := dataOf(r.get("v1/ConfigMap", ns, "there")); got != "theirs" || manager("there")() != ":root_ignore" {
		t.Errorf("got %s of %s", got, manager("there")())
	}
	r.patch("v1/ConfigMap", ns, "made", "{data: {k: edited}, metadata: {annotations: {"+object.AnnotationManager+": x}}}")
	r.Eventually(manager("made"), patience, often).Should(gomega.Equal(":root_ignore"))
	r.patch("v1/ConfigMap", ns, "made", "{metadata: {labels: {"+object.LabelPartOf+": null}}}")
	r.Eventually(func() string { return r.get("v1/ConfigMap", ns, "made").GetLabels()[object.LabelPartOf] }, patience, often).ShouldNot(gomega.BeEmpty())
	e.set("c2", configMap(ns, "made", "w", ignore), configMap(ns, "there", "w", ignore))
	if got := dataOf(r.get("v1/ConfigMap", ns, "made")); got != "edited" {
		t.Errorf("got %s", got)
	}

	t.Log("not to be managed")
	e.set("c3", configMap(ns, "made", "w", "configmanagement.gke.io/managed: disabled"), configMap(ns, "there", "w"))
	r.Eventually(manager("made"), patience, often).Should(gomega.BeEmpty()) // once the watch has told that the label is back
	if got := r.get("v1/ConfigMap", ns, "made"); dataOf(got) != "edited" || got.GetLabels()[object.LabelManagedBy] != "" {
		t.Errorf("got %v", got)
	}
	if got := dataOf(r.get("v1/ConfigMap", ns, "there")); got != "w" {
		t.Errorf("got %s", got)
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"ConfigMap, " + ns + "/there"}))
}

func TestEngine_deletesStrangersThatLookLikeItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("stranger", nil)
	e.set("c1", configMap(ns, "a", "v"))
	stranger := func(name, manager, set, resource string) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, Labels: map[string]string{object.LabelPartOf: set},
			Annotations: map[string]string{object.AnnotationManaged: "enabled", object.AnnotationManager: manager, object.AnnotationResourceID: resource},
		}}
		if err := r.e.Client.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	set := object.Sync("stranger").ApplySet()
	stranger("other-manager", ":root_other", set, "_configmap_"+ns+"_other-manager")
	stranger("other-set", ":root_stranger", "other", "_configmap_"+ns+"_other-set")
	stranger("other-id", ":root_stranger", set, "_configmap_"+ns+"_a")
	stranger("ours", ":root_stranger", set, "_configmap_"+ns+"_ours")
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "ours")) }, patience, often).Should(gomega.Equal("none"))
	for _, name := range []string{"other-manager", "other-set", "other-id"} {
		if r.get("v1/ConfigMap", ns, name) == nil {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestEngine_aDeclaredNamespaceThatSomebodyDeletesComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.start("comes-back", nil)
	e.set("c1", namespace("comes-back"), configMap("comes-back", "a", "v"), configMap("comes-back", "b", "v"))
	ns := r.get("v1/Namespace", "", "comes-back")
	if err := r.e.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	r.Eventually(func() bool {
		now := r.get("v1/Namespace", "", "comes-back")
		return now != nil && now.GetUID() != ns.GetUID()
	}, patience, often).Should(gomega.BeTrue())
	r.Eventually(func() string {
		return dataOf(r.get("v1/ConfigMap", "comes-back", "a")) + dataOf(r.get("v1/ConfigMap", "comes-back", "b"))
	}, patience, often).Should(gomega.Equal("vv"))
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
}
