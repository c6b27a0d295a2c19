// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// crd is a definition of kind Widget in a group of the test's own, and widget one.
func (r *rig) crd() string {
	group := r.prefix + ".example.com"
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets." + group + "}\nspec:\n  group: " + group + `
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
`
}

func (r *rig) widget(namespace, name string) string {
	return fmt.Sprintf("apiVersion: %s.example.com/v1\nkind: Widget\nmetadata: {name: %s, namespace: \"{%s}\"}\n---\n", r.prefix, name, namespace)
}

// widgets are those that there are, as "namespace/name".
func (r *rig) widgets() string {
	r.t.Helper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: r.prefix + ".example.com", Version: "v1", Kind: "WidgetList"})
	err := r.Client.List(r.t.Context(), &list)
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		r.t.Fatal(err)
	}
	var names []string
	for _, w := range list.Items {
		names = append(names, w.GetNamespace()+"/"+w.GetName())
	}
	return strings.Join(names, " ")
}

func TestCRDs(t *testing.T) {
	t.Parallel()
	t.Run("with an object of the kind in one commit", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.syncOf("a", r.widget("n", "one")+ns("n")+r.crd())
		r.Expect(r.widgets()).To(gomega.ContainSubstring("/one"))
		r.commit("a", "x.yaml", ns("n")+r.widget("n", "one"))
		r.says("a", "KNV1047: ")
		r.synced("a", r.commit("a", "x.yaml", ns("n")))
		r.Eventually(r.widgets, within, often).Should(gomega.BeEmpty())
	})
	t.Run("that is deleted by hand", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.syncOf("a", r.widget("n", "one")+ns("n")+r.crd())
		r.Expect(r.Kubectl(t, "delete", "crd", "widgets."+r.prefix+".example.com").Code).To(gomega.Equal(0))
		r.Eventually(r.widgets, within, often).Should(gomega.ContainSubstring("/one"))
		r.Eventually(func() string { return r.status("a") }, within, often).Should(gomega.HavePrefix("synced "))
	})
	t.Run("that another RootSync brings", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		commit := r.commit("a", "x.yaml", ns("n")+r.widget("n", "one")+cm("n", "one", "1"))
		r.sync("a")
		r.says("a", "KNV1021: ")
		r.manager("cm", "n/one", "a")
		r.syncOf("b", r.crd())
		r.synced("a", commit)
		r.Expect(r.widgets()).To(gomega.ContainSubstring("/one"))
		// It stays as long as the other has objects of it.
		none := r.commit("b", "none.txt", "")
		r.says("b", "kind still in use: ")
		r.synced("a", r.commit("a", "x.yaml", ns("n")))
		r.synced("b", none)
		r.Eventually(r.widgets, within, often).Should(gomega.BeEmpty())
	})
}

// A definition takes all objects of its kind with it, so it stays as long as one of them
// must.
func TestCRDs_whatIsProtected(t *testing.T) {
	t.Parallel()
	keep := func(r *rig, how string) {
		out := r.Kubectl(r.t, "label", "--overwrite", "widgets."+r.prefix+".example.com", "one", "-n", r.name("n"), how)
		r.Expect(out.Code).To(gomega.Equal(0), out.Stderr)
	}
	const refused = "KNV2009: failed to prune Widget."
	t.Run("and of the same RootSync", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.syncOf("a", ns("n")+r.widget("n", "one")+r.crd())
		keep(r, "holdfast.dev/deletion-protected=Always")
		none := r.commit("a", "x.yaml", ns("n"))
		r.says("a", refused)
		r.says("a", "skipped delete of CustomResourceDefinition.apiextensions.k8s.io, /widgets."+r.prefix+".example.com: dependent delete actuation failed: ")
		r.Expect(r.widgets()).To(gomega.ContainSubstring("/one"))
		keep(r, "holdfast.dev/deletion-protected-")
		r.synced("a", none)
		r.Eventually(r.widgets, within, often).Should(gomega.BeEmpty())
	})
	t.Run("that was let go of", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.syncOf("a", ns("n")+with(r.widget("n", "one"), detach)+r.widget("n", "two")+r.crd())
		none := r.commit("a", "x.yaml", ns("n"))
		r.says("a", "skipped delete of CustomResourceDefinition.apiextensions.k8s.io, /widgets."+r.prefix+".example.com: its objects would go with it, and these are to stay: {n}/one")
		r.Expect(r.widgets()).To(gomega.HaveSuffix("/one"))
		kind := "widgets." + r.prefix + ".example.com"
		r.Expect(r.Kubectl(t, "delete", kind, "one", "-n", r.name("n")).Code).To(gomega.Equal(0))
		r.Expect(r.Kubectl(t, "label", "crd", kind, "look=again").Code).To(gomega.Equal(0))
		r.synced("a", none)
	})
	t.Run("and of another RootSync", func(t *testing.T) {
		testkit.Long(t)
		t.Parallel()
		r := shared(t)
		r.syncOf("b", r.crd())
		r.syncOf("a", ns("n")+r.widget("n", "one"))
		keep(r, "holdfast.dev/deletion-protected=Always")
		gone := r.commit("a", "x.yaml", ns("n"))
		r.says("a", refused)
		none := r.commit("b", "none.txt", "")
		r.says("b", "kind still in use: widgets."+r.prefix+".example.com, by RootSync {a}")
		r.Expect(r.widgets()).To(gomega.ContainSubstring("/one"))
		keep(r, "holdfast.dev/deletion-protected-")
		r.synced("a", gone)
		r.synced("b", none)
		r.Eventually(r.widgets, within, often).Should(gomega.BeEmpty())
	})
}

func TestDependsOn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	after := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, "/namespaces/{n}/ConfigMap/"+name)
		}
		return object.AnnotationDependsOn + ": \"" + strings.Join(all, ",") + "\""
	}
	r.syncOf("a", with(cm("n", "a", "1"), after("b", "c"))+with(cm("n", "b", "1"), after("c"))+cm("n", "c", "1")+ns("n"))
	var order []uint64
	for _, name := range []string{"c", "b", "a"} {
		var v uint64
		_, err := fmt.Sscan(r.object("cm", "n/"+name).GetResourceVersion(), &v)
		r.Expect(err).NotTo(gomega.HaveOccurred())
		order = append(order, v)
	}
	r.Expect(order[0] < order[1] && order[1] < order[2]).To(gomega.BeTrue(), "%v", order)

	r.commit("a", "x.yaml", with(cm("n", "a", "2"), after("b"))+with(cm("n", "b", "2"), after("a"))+cm("n", "c", "2")+ns("n"))
	r.says("a", "cyclic dependency")
	r.value("n/c", "2")
	r.commit("a", "x.yaml", with(cm("n", "a", "3"), after("elsewhere"))+cm("n", "b", "3")+ns("n"))
	r.says("a", "external dependency: ")
	r.value("n/b", "3")
	r.manager("cm", "n/c", "-")
	r.value("n/a", "1")
	r.synced("a", r.commit("a", "x.yaml", ns("n")))
}

func TestRootSyncsThatManageRootSyncs(t *testing.T) {
	t.Parallel()
	t.Run("none manages itself", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.commit("a", "x.yaml", r.rootSyncText("a", "git: {repo: \"https://example.com/x\", auth: none}"))
		r.sync("a")
		r.says("a", "KNV1069: ")
	})
	t.Run("what is below goes first, where each says so", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		r.levels(map[string]bool{"top": true, "mid": true, "low": true})
		r.deleted("top")
		r.gone("mid")
		r.gone("low")
		r.manager("cm", "n/one", "-")
		r.manager("ns", "n", "-")
	})
	t.Run("and stays where one does not", func(t *testing.T) {
		testkit.Long(t)
		t.Parallel()
		r := shared(t)
		r.levels(map[string]bool{"top": true, "low": true})
		r.deleted("top")
		r.gone("mid")
		r.synced("low", r.commit("low", "x.yaml", ns("n")+cm("n", "one", "2")))
		r.manager("cm", "n/one", "low")
		r.Expect(r.rootSync("low").Annotations).NotTo(gomega.HaveKey(object.AnnotationManager))
	})
}

// levels makes a RootSync "top" of "mid" of "low", of which some go with what they have.
func (r *rig) levels(goes map[string]bool) {
	r.t.Helper()
	text := func(short string) string {
		out := r.rootSyncText(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s}", r.url(short))) + "\n---\n"
		if goes[short] {
			out = strings.Replace(out, "metadata:\n", "metadata:\n  annotations: {configsync.gke.io/deletion-propagation-policy: Foreground}\n", 1)
		}
		return out
	}
	r.commit("low", "x.yaml", ns("n")+cm("n", "one", "1"))
	r.commit("mid", "x.yaml", text("low"))
	commit := r.commit("top", "x.yaml", text("mid"))
	r.Apply(r.t, object.SyncNamespace, text("top"))
	r.synced("top", commit)
	r.manager("cm", "n/one", "low")
}
