// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// velero is the user as whom Velero restores.
const velero = "system:serviceaccount:velero:velero"

// restoreOrder has the kinds of the test in the order in which Velero restores them: those of its default priorities,
// then the rest by name.
var restoreOrder = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"},
	{Group: "hnc.x-k8s.io", Version: "v1alpha2", Kind: "HierarchyConfiguration"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "hnc.x-k8s.io", Version: "v1alpha2", Kind: "SubnamespaceAnchor"},
}

// objects lists the objects of namespaces, and the namespaces, in the order of restoreOrder.
func objects(t testing.TB, e *testkit.Env, namespaces ...string) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, kind := range restoreOrder {
		var all unstructured.UnstructuredList
		all.SetGroupVersionKind(kind)
		if err := e.Client.List(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			o := &all.Items[i]
			if slices.Contains(namespaces, cmp.Or(o.GetNamespace(), o.GetName())) {
				out = append(out, o)
			}
		}
	}
	return out
}

// backup returns objects as Velero restores them: of their metadata only names, labels and annotations.
func backup(objects []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	for _, o := range objects {
		restored := &unstructured.Unstructured{Object: maps.Clone(o.Object)}
		delete(restored.Object, "metadata")
		delete(restored.Object, "status")
		restored.SetNamespace(o.GetNamespace())
		restored.SetName(o.GetName())
		restored.SetLabels(o.GetLabels())
		restored.SetAnnotations(o.GetAnnotations())
		out = append(out, restored)
	}
	return out
}

// restore creates objects as Velero does, which does not change existing objects.
func restore(t *testing.T, e *testkit.Env, saved []*unstructured.Unstructured) {
	t.Helper()
	e.Grant(t, "", velero, testkit.Rule("*", []string{"*"}, "*"))
	c := e.As(t, velero)
	g := gomega.NewWithT(t)
	for _, o := range saved {
		o = o.DeepCopy()
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["velero.io/restore-name"] = "r"
		o.SetLabels(labels)
		refused := ""
		g.Eventually(func() error {
			err := c.Create(t.Context(), o.DeepCopy())
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not found") || apierrors.IsServiceUnavailable(err) {
				return err // the rights of the test are not known yet, or a namespace that was just created is not
			}
			if err != nil && !apierrors.IsAlreadyExists(err) {
				refused = err.Error()
			}
			return nil
		}, patience, often).Should(gomega.Succeed())
		if refused != "" {
			t.Errorf("%s %s/%s: %s", o.GetKind(), o.GetNamespace(), o.GetName(), refused)
		}
	}
}

// strays are the objects that have marks of other objects, or the annotation of a restored copy.
func strays(objects []*unstructured.Unstructured) (out []string) {
	for _, o := range objects {
		_, marked := o.GetLabels()[v1alpha1.MarkedLabel]
		_, restored := o.GetAnnotations()[v1alpha1.RestoredCopyAnnotation]
		if marked && !v1alpha1.Marked(o) || restored {
			out = append(out, fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()))
		}
	}
	return out
}

// Three namespaces are backed up, deleted by overrides and restored: a tree of two, and one by itself.
func TestTogether_restore(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply(ns("p") + role("p", "view", "get"))
	r.apply(anchor("p", "s"))
	r.see("role view -n {s}"+verbs, "get")
	r.apply(ns("u") + protected("s", "kept") + protected("u", "kept") + cm("u", "selected", "1") + cm("u", "loose", "1"))
	r.apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{.}"}, spec: {reason: data, protectedResources: [
		{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: "{u}", name: selected}]}]}}`)
	r.see(`cm selected -n {u} -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{.}")
	for _, n := range []string{"s", "u"} {
		r.see(`ns {`+n+`} -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
	}
	namespaces := []string{r.long("{p}"), r.long("{s}"), r.long("{u}")}
	answers := func() string {
		var out strings.Builder
		for _, line := range []string{"protected -n {s}", "protected -n {u}", "owner ns {s}", "owner ns {u}", "owner role view -n {s}"} {
			fmt.Fprintf(&out, "kubectl holdfast %s\n", line)
			for says := range strings.Lines(r.holdfast(line).Stdout) {
				if !strings.HasPrefix(says, "  fields of:") && !strings.HasPrefix(says, "      ") { // they have other field managers after a restore
					says, _, _ = strings.Cut(says, "; written by ")
					out.WriteString(strings.TrimSpace(says) + "\n")
				}
			}
		}
		return out.String() + r.plugin("kubectl-hns", "tree {p}").Stdout
	}
	var before string
	r.Eventually(func() string {
		last := before
		before = answers()
		return gocmp.Diff(last, before)
	}, patience, slower).Should(gomega.BeEmpty())
	saved := backup(objects(t, r.Env, namespaces...))

	for _, n := range []string{"s", "u"} {
		r.answers("override ask namespace {"+n+"} --include-contents --reason restore --wait", 0)
	}
	r.done("delete subnamespaceanchor {s} -n {p}")
	r.done("delete ns {u} --wait=false")
	r.gone("ns {s} {u}")
	r.done("delete ns {p} --wait=false")
	r.gone("ns {p}")

	restore(t, r.Env, saved)
	r.Eventually(func() string { return gocmp.Diff(before, answers()) }, patience, slower).Should(gomega.BeEmpty())
	r.Eventually(func() []string { return strays(objects(t, r.Env, namespaces...)) }, patience, often).Should(gomega.BeEmpty())
	r.see(`role view -n {s} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "{p}")
	r.refused("delete ns {u}", "2 protected objects: configmaps/kept, configmaps/selected")
}
