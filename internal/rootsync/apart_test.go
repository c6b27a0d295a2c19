// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const badService = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: \"{n}\"}\nspec: {ports: [{port: 80000}]}\n---\n"

// One object that cannot be stops neither the others nor that they are put back.
func TestApart_oneBadObject(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.commit("a", "x.yaml", ns("n")+badService+cm("n", "one", "1")+cm("n", "two", "1"))
	r.sync("a")
	r.says("a", "KNV2009: failed to apply Service, {n}/s: ")
	r.manager("cm", "n/one", "a")
	r.delete("cm", "n/one")
	r.value("n/one", "1")
	r.commit("a", "x.yaml", ns("n")+badService+cm("n", "one", "2"))
	r.value("n/one", "2")
	r.manager("cm", "n/two", "-")
	r.synced("a", r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2")))
	r.Expect(r.inventory("a")).To(gomega.HaveLen(2))
}

func TestApart_whatCannotChange(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	fixed := func(value string) string { return "immutable: true\n" + cm("n", "fixed", value) }
	r.syncOf("a", ns("n")+fixed("1"))
	r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2")+fixed("2"))
	r.says("a", "KNV2009: failed to apply ConfigMap, {n}/fixed: ")
	r.value("n/one", "2")
	r.value("n/fixed", "1")
	r.synced("a", r.commit("a", "x.yaml", ns("n")+fixed("1")))
}

// What an object depends on and does not get ready has it skipped, and nothing else.
func TestApart_whatDoesNotGetReady(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	deployment := `apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: "{n}"}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: nothing.invalid/c}]}
---
`
	after := object.AnnotationDependsOn + ": apps/namespaces/{n}/Deployment/d"
	r.commit("a", "x.yaml", ns("n")+deployment+with(cm("n", "after", "1"), after)+cm("n", "one", "1"))
	r.sync("a", "  override: {reconcileTimeout: 3s}")
	r.says("a", "KNV2009: skipped apply of ConfigMap, {n}/after: dependency apply reconcile timeout: ")
	r.value("n/one", "1")
	r.manager("cm", "n/after", "-")
	none := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
	r.synced("a", none)
}

func TestApart_aNamespaceThatMayNotBeMade(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(ns("n")))
	r.commit("a", "x.yaml", cm("n", "one", "1")+cm("m", "one", "1"))
	r.sync("a", "  override: {roleRefs: [{kind: ClusterRole, name: edit, namespace: \"{n}\"}]}")
	r.says("a", "KNV2013: failed to apply Namespace, /{m}: ")
	r.value("n/one", "1")
	r.Apply(t, "", r.long(ns("m")))
	r.says("a", "failed to apply ConfigMap, {m}/one: ")
}

// What was there before is taken over, with what others have written on it.
func TestApart_whatWasThereIsAdopted(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(ns("n")))
	if out := r.KubectlInput(t, r.long(cm("n", "one", "0")), "apply", "-f", "-"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	r.patch("cm", "n/one", `{"data":{"w":"mine"},"metadata":{"labels":{"mine":"x"}}}`)
	uid := r.object("cm", "n/one").GetUID()
	r.syncOf("a", cm("n", "one", "1"))
	o := r.object("cm", "n/one")
	w, _, _ := unstructuredString(o, "data", "w")
	r.Expect(w).To(gomega.Equal("mine"))
	r.Expect(o.GetUID()).To(gomega.Equal(uid))
	r.Expect(o.GetLabels()).To(gomega.HaveKeyWithValue("mine", "x"))
	r.value("n/one", "1")
}

// An inventory that somebody deletes is made again, and nothing is forgotten.
func TestApart_anInventoryThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(group.Resource.GroupVersion().WithKind("ResourceGroup"))
	u.SetNamespace(object.SyncNamespace)
	u.SetName(r.name("a"))
	r.Expect(r.Client.Delete(t.Context(), u)).To(gomega.Succeed())
	r.synced("a", r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2")))
	r.manager("cm", "n/two", "-")
	r.Eventually(func() int { return len(r.inventory("a")) }, within, often).Should(gomega.Equal(2))
}

// Several namespaces that one has made along the way and another declares then: none of
// them is lost, which is no reason to refuse what comes after.
func TestImplicit_severalAreHandedOver(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	both := cm("m", "one", "1") + cm("n", "one", "1")
	r.syncOf("a", both)
	r.Expect(r.inventory("a")).To(gomega.HaveLen(4))
	r.syncOf("b", ns("m")+ns("n"))
	r.Eventually(func() int { return len(r.inventory("a")) }, within, often).Should(gomega.Equal(2))
	r.synced("a", r.commit("a", "x.yaml", both+cm("n", "two", "1")))
	r.manager("ns", "m", "b")
	r.manager("ns", "n", "b")
}
