// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// testCost counts the calls that writes make, one after the other.
func testCost(t *testing.T, s *server) {
	g := gomega.NewWithT(t)
	a := s.namespace(t, "labels: {"+included+`: "true"}`)
	ann := s.as(t, "ann")
	object := func(kind, namespace, name string) *unstructured.Unstructured {
		u := parse(t, "{apiVersion: v1, kind: "+kind+", metadata: {name: "+name+"}}")
		u.SetNamespace(namespace)
		return u
	}
	source := s.create(t, a.GetName(), "{apiVersion: v1, kind: Secret, metadata: {name: source}}")
	aCopy := s.create(t, a.GetName(), strings.Replace(roleCopy, "{labels", "{name: copied, labels", 1))
	h := s.create(t, a.GetName(), hierarchy(""))
	patch := func(u *unstructured.Unstructured, patch string) func() error {
		return func() error { return write(t, ann, u, "", patch) }
	}
	// The API server calls webhooks for a patch once more where its cache was behind.
	fresh := func(u *unstructured.Unstructured) {
		g.Eventually(func() error {
			return s.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: u.GetResourceVersion()}})
		}, "180s", "100ms").Should(gomega.Succeed())
	}
	for _, tt := range []struct {
		name  string
		write func() error
		calls int64
	}{
		{"a new source", func() error { return ann.Create(t.Context(), object("Secret", a.GetName(), "more"), client.DryRunAll) }, 1},
		{"the content of a source", patch(source, `{"stringData":{"a":"b"}}`), 0},
		{"a label of a source", patch(source, metaPatch("labels", "a", `"b"`)), 1},
		{"a delete of a source", func() error { return ann.Delete(t.Context(), source.DeepCopy(), client.DryRunAll) }, 0},
		{"a copy by Holdfast", func() error {
			return s.as(t, "holdfast").Patch(t.Context(), aCopy.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"rules":[]}`)))
		}, 0},
		{"an object of another kind", func() error {
			return ann.Create(t.Context(), object("ConfigMap", a.GetName(), "more"), client.DryRunAll)
		}, 0},
		{"a source in an excluded namespace", func() error {
			return ann.Create(t.Context(), object("Secret", "kube-system", "more"), client.DryRunAll)
		}, 0},
		{"a label of a namespace", patch(a, metaPatch("labels", "a", `"b"`)), 0},
		{"a label of an excluded namespace", patch(object("Namespace", "", "kube-system"), metaPatch("labels", "a", `"b"`)), 0},
		{"a label of a HierarchyConfiguration", patch(h, metaPatch("labels", "a", `"b"`)), 0},
		{"a spec of a HierarchyConfiguration", patch(h, `{"spec":{"allowCascadingDeletion":true}}`), 1},
		{"a namespace by Holdfast", func() error {
			return s.as(t, "holdfast").Create(t.Context(), object("Namespace", "", "cost"), client.DryRunAll)
		}, 0},
		// Once for the label, and once because there are external namespaces.
		{"a namespace", func() error { return ann.Create(t.Context(), object("Namespace", "", "cost"), client.DryRunAll) }, 2},
		{"a delete of a namespace", func() error { return ann.Delete(t.Context(), a.DeepCopy(), client.DryRunAll) }, 1},
	} {
		for _, u := range []*unstructured.Unstructured{a, source, aCopy, h} {
			fresh(u)
		}
		before := s.calls.Load()
		if err := tt.write(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := s.calls.Load() - before; got != tt.calls {
			t.Errorf("%s makes %d calls, want %d", tt.name, got, tt.calls)
		}
	}
}

// testOutage is what users notice while Holdfast is down.
func testOutage(t *testing.T, s *server) {
	ann, down := s.as(t, "ann"), "500 failed calling webhook "
	a := s.namespace(t, "labels: {"+included+`: "true", `+marked+`: "true"}`)
	b := s.below(t, a.GetName())
	sub := s.subnamespace(t, a.GetName())
	free := s.namespace(t, "labels: {}")
	role := s.create(t, b.GetName(), strings.Replace(roleCopy, "{labels", "{name: copied, labels", 1))
	config := parse(t, "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}}") // testConfigurations made it
	h := parse(t, hierarchy(a.GetName()))
	h.SetNamespace(b.GetName())
	s.down.Store(true)
	defer s.down.Store(false)

	t.Run("copies are guarded all the same", func(t *testing.T) {
		said(t, "a copy changed", write(t, ann, role.DeepCopy(), "", `{"rules":[]}`), change)
		said(t, "a copy deleted", write(t, ann, role.DeepCopy(), "", ""), remove)
		said(t, "a copy made", ann.Create(t.Context(), func() *unstructured.Unstructured {
			u := parse(t, strings.Replace(roleCopy, "{labels", "{name: another, labels", 1))
			u.SetNamespace(a.GetName())
			return u
		}()), byHand)
		said(t, "an annotation of the cluster on a copy", write(t, s.as(t, "deployment-controller"), role.DeepCopy(), "", metaPatch("annotations", "control.kubernetes.io/a", `"b"`)), "ok")
	})
	t.Run("weak point 4: labels are guarded through every subresource", func(t *testing.T) {
		for _, through := range []string{"", "status"} {
			said(t, "a tree label", write(t, ann, b.DeepCopy(), through, metaPatch("labels", a.GetName()+".tree.hnc.x-k8s.io/depth", `"2"`)), "403 cannot be changed")
			said(t, "the label of the seed", write(t, ann, b.DeepCopy(), through, metaPatch("labels", excluded, `"true"`)), "403 is not in the list")
			said(t, "the label that it is managed", write(t, ann, b.DeepCopy(), through, metaPatch("labels", included, "null")), `403 must be "true"`)
		}
		said(t, "a tree label through finalize", finalize(t, ann, b, map[string]string{a.GetName() + ".tree.hnc.x-k8s.io/depth": ""}), "403 cannot be changed")
	})
	t.Run("a namespace with labels that are trusted is not created", func(t *testing.T) {
		restored := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: restored, labels: {"+a.GetName()+".tree.hnc.x-k8s.io/depth: '1'}}}")
		said(t, "create", ann.Create(t.Context(), restored), "403 cannot be changed")
	})
	t.Run("unrelated writes go on, in all namespaces", func(t *testing.T) {
		for _, in := range []string{a.GetName(), b.GetName(), "kube-system", "excluded", "holdfast-system", "default"} {
			// A Secret in Holdfast's own namespace too: in it is the certificate of
			// the webhooks, without which HNC locked itself out.
			for _, object := range []string{"{apiVersion: v1, kind: Secret, metadata: {name: unrelated}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: unrelated}}"} {
				u := parse(t, object)
				u.SetNamespace(in)
				said(t, "create in "+in, ann.Create(t.Context(), u), "ok")
				said(t, "label in "+in, write(t, ann, u, "", metaPatch("labels", "a", `"b"`)), "ok")
				said(t, "delete in "+in, ann.Delete(t.Context(), u), "ok")
			}
			u := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+in+"}}")
			said(t, "label the namespace "+in, write(t, ann, u, "", metaPatch("labels", "outage", `"yes"`)), "ok")
		}
		fresh := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: during-outage}}")
		said(t, "a namespace made", ann.Create(t.Context(), fresh), "ok")
		said(t, "it deleted", ann.Delete(t.Context(), fresh), "ok")
		said(t, "a namespace in no tree deleted", ann.Delete(t.Context(), free), "ok")
		gone(t, s, fresh)
		gone(t, s, free)
	})
	t.Run("changes of hierarchies and deletions in trees wait", func(t *testing.T) {
		said(t, "the parent", write(t, ann, h.DeepCopy(), "", `{"spec":{"parent":"default"}}`), down+`"hierarchyconfigurations.hnc.x-k8s.io"`)
		said(t, "no parent", ann.Delete(t.Context(), h.DeepCopy()), down+`"hierarchyconfigurations.hnc.x-k8s.io"`)
		said(t, "no parent, by the garbage collector", s.as(t, "generic-garbage-collector").Delete(t.Context(), h.DeepCopy()), down)
		said(t, "a finalizer of a HierarchyConfiguration", write(t, ann, h.DeepCopy(), "", `{"metadata":{"finalizers":[]}}`), "ok")
		n := parse(t, anchor("new-sub"))
		n.SetNamespace(a.GetName())
		said(t, "an anchor", ann.Create(t.Context(), n), down+`"subnamespaceanchors.hnc.x-k8s.io"`)
		said(t, "the HNCConfiguration", write(t, ann, config.DeepCopy(), "", `{"spec":{"resources":[{"resource":"secrets"}]}}`), down+`"hncconfigurations.hnc.x-k8s.io"`)
		for _, u := range []*unstructured.Unstructured{a, b, sub} {
			said(t, "a namespace in a tree deleted", ann.Delete(t.Context(), u.DeepCopy()), down+`"namespaces.hnc.x-k8s.io"`)
		}
	})
	t.Run("a namespace in a tree can be deleted unchecked, and ends", func(t *testing.T) {
		said(t, "annotate", write(t, ann, b, "", metaPatch("annotations", "holdfast.dev/delete-unchecked", `"`+b.GetName()+`"`)), "ok")
		deleter := "outage-deleter"
		s.Grant(t, "", deleter, testkit.Rule("", []string{"namespaces"}, "delete"))
		said(t, "by somebody", s.As(t, deleter).Delete(t.Context(), b.DeepCopy()), "403 unprotect")
		said(t, "by who may unprotect", ann.Delete(t.Context(), b), "ok")
		gone(t, s, b) // with a copy and a HierarchyConfiguration in it
		said(t, "a subnamespace", write(t, ann, a, "", metaPatch("annotations", "holdfast.dev/delete-unchecked", `"`+a.GetName()+`"`)), "ok")
		said(t, "its parent by who may unprotect", ann.Delete(t.Context(), a), "ok")
		gone(t, s, a) // with an anchor in it
	})
}

// testMutatingIsOwned holds that the configuration of the mutating webhook is written
// again where somebody could change it, and goes with the anchor.
func testMutatingIsOwned(t *testing.T, s *server) {
	u := parse(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: holdfast-guard}}")
	webhooks := func() int {
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return 0
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
		return len(list)
	}
	for what, harm := range map[string]func() error{
		"emptied": func() error { return write(t, s.as(t, "holdfast"), u.DeepCopy(), "", `{"webhooks":[]}`) },
		"deleted": func() error { return s.as(t, "holdfast").Delete(t.Context(), u.DeepCopy()) },
	} {
		said(t, what, harm(), "ok")
		gomega.NewWithT(t).Eventually(func() int {
			s.reconcile(t)
			return webhooks()
		}, "180s", "100ms").Should(gomega.Equal(3), "after it was %s", what)
	}
	anchor := parse(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: holdfast-anchor}}")
	said(t, "say that it is meant", write(t, s.as(t, "ann"), anchor, "", metaPatch("annotations", "holdfast.dev/stop", `"holdfast-anchor"`)), "ok")
	said(t, "delete the anchor", s.as(t, "ann").Delete(t.Context(), anchor), "ok")
	gone(t, s, u)
	gone(t, s, parse(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: holdfast-hierarchy-copies}}"))
}

// testSelf holds that the configuration of the mutating webhook is guarded like the
// other.
func testSelf(t *testing.T, s *server) {
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		u := parse(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: "+kind+", metadata: {name: holdfast-guard}}")
		const refusal = "403 Holdfast writes this webhook configuration itself"
		said(t, "change "+kind, write(t, s.as(t, "ann"), u.DeepCopy(), "", `{"webhooks":[]}`), refusal)
		said(t, "delete "+kind, s.as(t, "ann").Delete(t.Context(), u), refusal)
	}
}
