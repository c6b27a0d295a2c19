// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// create makes an object by Holdfast; an error ends the test.
func (s *server) create(t testing.TB, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	u := parse(t, text)
	u.SetNamespace(namespace)
	if err := s.as(t, "holdfast").Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// below makes a namespace with a parent, and labels to show it.
func (s *server) below(t testing.TB, parent string) *unstructured.Unstructured {
	t.Helper()
	u := s.namespace(t, "labels: {"+included+`: "true", NAME.tree.hnc.x-k8s.io/depth: "0", `+parent+`.tree.hnc.x-k8s.io/depth: "1"}`)
	s.create(t, u.GetName(), hierarchy(parent))
	return u
}

// subnamespace makes one with its anchor.
func (s *server) subnamespace(t testing.TB, parent string) *unstructured.Unstructured {
	t.Helper()
	u := s.namespace(t, "annotations: {hnc.x-k8s.io/subnamespace-of: "+parent+"}")
	s.create(t, parent, anchor(u.GetName()))
	return u
}

func hierarchy(parent string) string {
	return "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy}, spec: {parent: '" + parent + "'}}"
}

func anchor(name string) string {
	return "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: " + name + "}}"
}

// grant lets a user change the tree of some namespaces, and gives a client for him.
func (s *server) grant(t testing.TB, user string, namespaces ...string) client.Client {
	t.Helper()
	for _, n := range namespaces {
		s.Grant(t, n, user, testkit.Rule(hncv1alpha2.GroupName, []string{hncv1alpha2.ResourceHierarchyConfigurations}, "*"))
	}
	return s.As(t, user)
}

func gone(t testing.TB, s *server, u *unstructured.Unstructured) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(s.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u.DeepCopy()))
	}, "180s", "100ms").Should(gomega.BeTrue(), "it does not go")
}

// testHierarchies puts changes of parents to the API server, by people with rights in
// some namespaces.
func testHierarchies(t *testing.T, s *server) {
	t.Run("rights in the child alone", func(t *testing.T) {
		t.Parallel()
		a, b := s.namespace(t, "labels: {}").GetName(), s.namespace(t, "labels: {}").GetName()
		bob := s.grant(t, "bob-"+b, b)
		u := parse(t, hierarchy(a))
		u.SetNamespace(b)
		said(t, "create", bob.Create(t.Context(), u), `401 this changes the tree of the namespace "`+a+`"`)
		u.Object["spec"] = map[string]any{"allowCascadingDeletion": true}
		said(t, "create without a parent", bob.Create(t.Context(), u), "ok")
		said(t, "set the parent", write(t, bob, u.DeepCopy(), "", `{"spec":{"parent":"`+a+`"}}`), "401")
		ann := s.grant(t, "ann-"+b, a, b)
		said(t, "set the parent with rights in it", write(t, ann, u.DeepCopy(), "", `{"spec":{"parent":"`+a+`"}}`), "ok")
		said(t, "set the parent to itself", write(t, ann, u.DeepCopy(), "", `{"spec":{"parent":"`+b+`"}}`), "409")
		said(t, "set no namespace as the parent", write(t, ann, u.DeepCopy(), "", `{"spec":{"parent":"nowhere"}}`), "403 does not exist")
		said(t, "set an excluded parent", write(t, ann, u.DeepCopy(), "", `{"spec":{"parent":"kube-system"}}`), "403 cannot be a parent")
		said(t, "set a label that is not managed", write(t, ann, u.DeepCopy(), "", `{"spec":{"labels":[{"key":"other","value":"x"}]}}`), "422")
		said(t, "set a managed label", write(t, ann, u.DeepCopy(), "", `{"spec":{"labels":[{"key":"team","value":"x"}]}}`), "ok")
		said(t, "take the parent away", write(t, bob, u.DeepCopy(), "", `{"spec":{"parent":null}}`), "401")
	})
	t.Run("weak point 3: a delete takes the parent away", func(t *testing.T) {
		t.Parallel()
		a := s.namespace(t, "labels: {}").GetName()
		b := s.below(t, a).GetName()
		bob, ann := s.grant(t, "bob-"+b, b), s.grant(t, "ann-"+b, a, b)
		u := parse(t, hierarchy(a))
		u.SetNamespace(b)
		said(t, "delete", bob.Delete(t.Context(), u), "401")
		said(t, "delete the collection", bob.DeleteAllOf(t.Context(), u, client.InNamespace(b)), "401")
		said(t, "give it an owner that is not there, to be collected",
			write(t, bob, u.DeepCopy(), "", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"1"}]}}`), "401")
		said(t, "label it", write(t, bob, u.DeepCopy(), "", metaPatch("labels", "a", `"b"`)), "ok")
		said(t, "delete with rights in the parent", ann.Delete(t.Context(), u), "ok")
	})
	t.Run("in an excluded namespace", func(t *testing.T) {
		t.Parallel()
		u := parse(t, hierarchy(""))
		u.SetNamespace("kube-system")
		said(t, "create", s.as(t, "ann").Create(t.Context(), u), `403 the namespace "kube-system" is not managed`)
		said(t, "create by Holdfast", s.as(t, "holdfast").Create(t.Context(), u, client.DryRunAll), "ok")
	})
}

func testAnchors(t *testing.T, s *server) {
	a := s.namespace(t, "labels: {}").GetName()
	sub, other := s.subnamespace(t, a), s.namespace(t, "labels: {}")
	s.below(t, sub.GetName())
	for _, tt := range []struct{ name, in, anchor, want string }{
		{"new", a, "sub-of-" + a, "ok"},
		{"of a namespace that there is", a, other.GetName(), "409 already"},
		{"of an excluded name", a, "kube-public", "403 cannot be a subnamespace"},
		{"of a name that an add-on will have", a, "cert-manager", "403 is reserved"},
		{"of a name that Kubernetes may have", a, "kube-new", "403 is reserved"},
		{"of the namespace of RootSyncs", a, "config-management-system", "403 cannot be a subnamespace"},
		{"in an excluded namespace", "kube-public", "sub-of-" + a, "403 cannot have subnamespaces"},
		{"of a name that is none", a, "a.b", "422"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := parse(t, anchor(tt.anchor))
			u.SetNamespace(tt.in)
			said(t, tt.name, s.as(t, "ann").Create(t.Context(), u, client.DryRunAll), tt.want)
		})
	}
	u := parse(t, anchor(sub.GetName()))
	u.SetNamespace(a)
	said(t, "delete one whose subnamespace has a child", s.as(t, "ann").Delete(t.Context(), u, client.DryRunAll), "403 has namespaces below it")
	said(t, "delete all of them", s.as(t, "ann").DeleteAllOf(t.Context(), u, client.InNamespace(a), client.DryRunAll), "403 has namespaces below it")
}

func testConfigurations(t *testing.T, s *server) {
	a := s.namespace(t, "labels: {}").GetName()
	b := s.below(t, a).GetName()
	for _, in := range []string{a, b} {
		s.create(t, in, "{apiVersion: v1, kind: ConfigMap, metadata: {name: at-odds}}")
	}
	config := "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}, spec: {%s}}"
	for _, tt := range []struct{ name, spec, want string }{
		{"nothing", "", "ok"},
		{"a resource that is not served", "resources: [{resource: roads}]", "422 no resource roads"},
		{"roles by another name", "resources: [{resource: role}]", "422 always propagated"},
		{"a new resource in the singular, with objects at odds", "resources: [{resource: ConfigMap}]", "409 ConfigMap " + b + "/at-odds by that in " + a},
		{"a new resource whose objects must ask", "resources: [{resource: configmaps, mode: AllowPropagate}]", "ok"},
		{"an excluded namespace", "excludedNamespaces: [a]", "ok"},
		{"an excluded namespace that is none", "excludedNamespaces: ['*']", "422"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said(t, tt.name, s.as(t, "ann").Create(t.Context(), parse(t, fmt.Sprintf(config, tt.spec)), client.DryRunAll), tt.want)
		})
	}
	u := s.create(t, "", fmt.Sprintf(config, ""))
	said(t, "delete", s.as(t, "ann").Delete(t.Context(), u), "403 cannot be deleted")
}

func testDeletions(t *testing.T, s *server) {
	a := s.namespace(t, "labels: {}")
	sub := s.subnamespace(t, a.GetName())
	full := s.below(t, a.GetName())
	free := s.namespace(t, "labels: {"+included+`: "no", `+excluded+`: "yes"}`)
	ann := s.as(t, "ann")
	said(t, "a subnamespace", ann.Delete(t.Context(), sub), "403 delete its anchor")
	said(t, "a root with a subnamespace", ann.Delete(t.Context(), a), "403 has subnamespaces ("+sub.GetName()+")")
	said(t, "a root with a subnamespace and the mark", write(t, s.as(t, "holdfast"), a.DeepCopy(), "", metaPatch("labels", marked, `"true"`)), "ok")
	said(t, "a root with a subnamespace and the mark", ann.Delete(t.Context(), a), "403 has subnamespaces")
	said(t, "a child", ann.Delete(t.Context(), full), "ok")
	said(t, "a namespace with labels that it should not have", ann.Delete(t.Context(), free), "ok")
	gone(t, s, full)
	gone(t, s, free)

	// Past the webhook, with a right of its own.
	annotate := `{"metadata":{"annotations":{"holdfast.dev/delete-unchecked":"` + sub.GetName() + `"}}}`
	said(t, "annotate", write(t, ann, sub, "", annotate), "ok")
	deleter := "deleter-" + a.GetName()
	s.Grant(t, "", deleter, testkit.Rule("", []string{"namespaces"}, "delete"))
	said(t, "unchecked", s.As(t, deleter).Delete(t.Context(), sub, client.DryRunAll), `403 needs the RBAC verb "unprotect"`)
	said(t, "unchecked by who may unprotect", ann.Delete(t.Context(), sub, client.DryRunAll), "ok")
}

func testSources(t *testing.T, s *server) {
	a := s.namespace(t, "labels: {}").GetName()
	b := s.below(t, a).GetName()
	s.create(t, b, "{apiVersion: v1, kind: Secret, metadata: {name: x}}")
	const with = "{apiVersion: v1, kind: Secret, metadata: {name: %s, annotations: {%s}}}"
	spare := `propagate.hnc.x-k8s.io/treeSelect: "!` + b + `"`
	for _, tt := range []struct{ name, object, namespace, want string }{
		{"that would take the place of another", fmt.Sprintf(with, "x", ""), a, "409 in the namespaces " + b},
		{"that spares it", fmt.Sprintf(with, "x", spare), a, "ok"},
		{"with an annotation that there is not", fmt.Sprintf(with, "z", "a.hnc.x-k8s.io/b: c"), a, "400"},
		{"with an annotation that there is not, in an excluded namespace", fmt.Sprintf(with, "z", "a.hnc.x-k8s.io/b: c"), "excluded", "ok"},
		{"weak point 6: a treeSelect with nothing between the commas", fmt.Sprintf(with, "z", `propagate.hnc.x-k8s.io/treeSelect: "a,"`), a, "400 treeSelect"},
		{"of a kind that is not copied", strings.Replace(fmt.Sprintf(with, "z", "a.hnc.x-k8s.io/b: c"), "Secret", "ConfigMap", 1), a, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := parse(t, tt.object)
			u.SetNamespace(tt.namespace)
			said(t, tt.name, s.as(t, "ann").Create(t.Context(), u, client.DryRunAll), tt.want)
		})
	}
	t.Run("weak point 12: an exception taken away", func(t *testing.T) {
		t.Parallel()
		u := s.create(t, a, fmt.Sprintf(with, "x", spare))
		said(t, "the exception", write(t, s.as(t, "ann"), u.DeepCopy(), "", `{"metadata":{"annotations":null}}`), "409 in the namespaces "+b)
		said(t, "the content", write(t, s.as(t, "ann"), u.DeepCopy(), "", `{"stringData":{"a":"b"}}`), "ok")
	})
}
