// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func (e *engine) statuses() []string {
	u := e.r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, string(e.sync))
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "resourceStatuses")
	out := make([]string, 0, len(list))
	for _, one := range list {
		m := one.(map[string]any)
		out = append(out, fmt.Sprint(m["name"], " ", m["status"], " ", m["strategy"], " ", m["actuation"], " ", m["reconcile"], " ", m["sourceHash"]))
	}
	return out
}

func TestEngine_theInventorySaysWhatBecameOfEach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("status", nil)
	texts := []string{
		configMap(ns, "a", "v"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: " + ns + "}, data: 7}",
		configMap(ns, "skipped", "v", "config.kubernetes.io/depends-on: /namespaces/"+ns+"/ConfigMap/bad"),
		"{apiVersion: v1, kind: Pod, metadata: {name: pod, namespace: " + ns + "}, spec: {containers: [{name: c, image: i}]}}",
	}
	d := timed(declared(t, texts...), "0123456789", "1s")
	d.WithStatus = true
	e.Set(d)
	want := []string{
		"a Current Apply Succeeded Succeeded 0123456", "bad NotFound Apply Failed Skipped <nil>",
		"pod InProgress Apply Succeeded Timeout 0123456", "skipped NotFound Apply Skipped Skipped <nil>",
	}
	r.Eventually(e.statuses, patience, often).Should(gomega.ConsistOf(want))
	got := r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, "status")
	if got.GetLabels()["cli-utils.sigs.k8s.io/inventory-id"] != "config-management-system_status" || got.GetAnnotations()["configsync.gke.io/status"] != "enabled" {
		t.Errorf("got %v, %v", got.GetLabels(), got.GetAnnotations())
	}
	d.WithStatus = false
	e.Set(d)
	r.Eventually(e.statuses, patience, often).Should(gomega.BeEmpty())
	// What is left of it would be of an older generation for ever, which is InProgress to kstatus.
	r.Expect(r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, "status").Object["status"]).To(gomega.BeNil())
}

func TestStore_keepsWhatAnotherHasAdded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := must(dynamic.NewForConfig(r.e.Config))(t)
	a, b := group.New(client, "both"), group.New(client, "both")
	one, two, three := object.NamespaceID("one"), object.NamespaceID("two"), object.NamespaceID("three")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(a.Load(t.Context()))
	check(b.Load(t.Context()))
	check(a.Write(t.Context(), []object.ID{one, two}, true))
	check(b.Write(t.Context(), []object.ID{three}, true))
	if diff := cmp.Diff([]object.ID{one, three, two}, b.IDs()); diff != "" {
		t.Error(diff)
	}
	check(a.Write(t.Context(), []object.ID{one}, true)) // it had two and gave it up
	if diff := cmp.Diff([]object.ID{one, three}, a.IDs()); diff != "" {
		t.Error(diff)
	}
	check(a.WriteStatus(t.Context(), []group.Status{{ID: one, Status: "Current", Strategy: "Apply", Actuation: "Succeeded", Reconcile: "Succeeded"}}, time.Now()))
	version := r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, "both").GetResourceVersion()
	check(a.WriteStatus(t.Context(), []group.Status{{ID: one, Status: "Current", Strategy: "Apply", Actuation: "Succeeded", Reconcile: "Succeeded"}}, time.Now().Add(time.Hour)))
	check(a.Write(t.Context(), []object.ID{three, one}, true))
	if got := r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, "both").GetResourceVersion(); got != version {
		t.Error("it was written again")
	}
	if err := a.Delete(t.Context()); err == nil {
		t.Error("it is deleted while it has objects")
	}
	check(b.Write(t.Context(), nil, true))
	check(b.Delete(t.Context()))
	check(b.Delete(t.Context()))
	check(a.Write(t.Context(), []object.ID{one}, true)) // it was deleted meanwhile
	if diff := cmp.Diff([]object.ID{one}, a.IDs()); diff != "" {
		t.Error(diff)
	}
}

func TestEngine_objectsOfAKindThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("unwatched", func(o *apply.Options) { o.Live, o.Pauses.UnwatchedObject = blind{}, 500*time.Millisecond })
	e.set("c1", configMap(ns, "a", "v"), configMap(ns, "b", "v"))
	s := e.set("c2", configMap(ns, "a", "w"))
	if len(s.Errors) > 0 || dataOf(r.get("v1/ConfigMap", ns, "a")) != "w" || r.get("v1/ConfigMap", ns, "b") != nil {
		t.Errorf("got %+v, %v", s.Progress, errorsOf(s))
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.HaveLen(1))

	t.Log("the status goes by what was answered")
	e.Set(apply.Declaration{Objects: declared(t, configMap(ns, "a", "x")), Version: version("c3"), ReconcileTimeout: 30 * time.Second, WithStatus: true})
	e.settled("c3")
	r.Eventually(e.statuses, patience, often).Should(gomega.Equal([]string{"a Current Apply Succeeded Succeeded c3"}))
}

// What is not watched is put back as well, in the end.
func TestEngine_looksAgainAtWhatCannotBeWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	clock := clocktesting.NewFakeClock(time.Now())
	e := r.start("looks-again", func(o *apply.Options) { o.Live, o.Clock = blind{}, clock })
	goes := func() string {
		clock.Step(30 * time.Second)
		o := r.get("v1/ConfigMap", ns, "a")
		if o == nil {
			return ""
		}
		return dataOf(o)
	}
	e.Set(timed(declared(t, configMap(ns, "a", "v")), "c1", "20m"))
	r.Eventually(goes, patience, often).Should(gomega.Equal("v"))
	r.patch("v1/ConfigMap", ns, "a", "{data: {k: other}}")
	r.Eventually(goes, patience, often).Should(gomega.Equal("v"))
}

func TestEngine_aKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	of := ns + ".example.org" // of its own, each time
	e := r.start("unserved", nil, schema.GroupKind{Group: of, Kind: "Later"})
	s := e.set("c1", "{apiVersion: "+of+"/v1, kind: Later, metadata: {name: a, namespace: "+ns+"}}", configMap(ns, "a", "v"))
	want := []string{"KNV1021: No CustomResourceDefinition is defined for the type \"Later." + of + "\" in the cluster.\n" +
		"Resource types that are not native Kubernetes objects must have a CustomResourceDefinition."}
	if diff := cmp.Diff(want, errorsOf(s)); diff != "" {
		t.Error(diff)
	}
	r.e.Apply(t, "default", crd(of, "Later"))
	t.Cleanup(func() {
		_ = r.e.Client.Delete(context.WithoutCancel(t.Context()), named("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "laters."+of))
	})
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
}
