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
	{Group: "holdfast.dev", Version: "v1alpha1", Kind: "ResourceDeletionProtection"},
}

// objects lists namespaces, the objects in them and the ResourceDeletionProtections with their names, in the order of
// restoreOrder.
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

// saved is a backup of three namespaces: a tree of two, and one by itself.
type saved struct {
	*rig
	namespaces []string
	objects    []*unstructured.Unstructured
	// answers are what the command line says of the namespaces.
	answers string
}

func save(t *testing.T) *saved {
	t.Helper()
	r := shared(t)
	r.apply(ns("p") + role("p", "view", "get"))
	r.apply(anchor("p", "s"))
	r.see("role view -n {s}"+verbs, "get")
	r.apply(ns("u") + protected("s", "kept") + protected("u", "kept") + cm("u", "selected", "1") + cm("u", "loose", "1"))
	r.apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{u}"}, spec: {reason: data, protectedResources: [
		{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: "{u}", name: selected}]}]}}`)
	r.see(`cm selected -n {u} -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{u}")
	for _, n := range []string{"s", "u"} {
		r.see(`ns {`+n+`} -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
	}
	out := &saved{rig: r, namespaces: []string{r.long("{p}"), r.long("{s}"), r.long("{u}")}}
	r.Eventually(func() string {
		last := out.answers
		out.answers = r.asked()
		return gocmp.Diff(last, out.answers)
	}, patience, slower).Should(gomega.BeEmpty())
	out.objects = backup(objects(t, r.Env, out.namespaces...))
	return out
}

// asked is what the command line says of the namespaces, without field managers, which are others after a restore.
func (r *rig) asked() string {
	r.t.Helper()
	var out strings.Builder
	for _, line := range []string{"protected -n {s}", "protected -n {u}", "owner ns {s}", "owner ns {u}", "owner role view -n {s}"} {
		fmt.Fprintf(&out, "kubectl holdfast %s\n", line)
		for says := range strings.Lines(r.holdfast(line).Stdout) {
			if !strings.HasPrefix(says, "  fields of:") && !strings.HasPrefix(says, "      ") {
				says, _, _ = strings.Cut(says, "; written by ")
				out.WriteString(strings.TrimSpace(says) + "\n")
			}
		}
	}
	return out.String() + r.plugin("kubectl-hns", "tree {p}").Stdout
}

// restoredIn restores the backup, and expects the answers of before and no stray mark.
func (s *saved) restoredIn(r *rig) {
	r.t.Helper()
	restore(r.t, r.Env, s.objects)
	r.Eventually(func() string { return gocmp.Diff(s.answers, r.asked()) }, patience, slower).Should(gomega.BeEmpty())
	r.Eventually(func() []string { return strays(objects(r.t, r.Env, s.namespaces...)) }, patience, often).Should(gomega.BeEmpty())
	r.see(`role view -n {s} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "{p}")
	r.refused("delete ns {u}", "2 protected objects: configmaps/kept, configmaps/selected")
}

func TestTogether_restore(t *testing.T) {
	t.Parallel()
	s := save(t)
	for _, n := range []string{"s", "u"} {
		s.rig.answers("override ask namespace {"+n+"} --include-contents --reason restore --wait", 0)
	}
	s.done("delete subnamespaceanchor {s} -n {p}")
	s.done("delete ns {u} --wait=false")
	s.gone("ns {s} {u}")
	s.done("delete ns {p} --wait=false")
	s.gone("ns {p}")
	s.restoredIn(s.rig)
}

func TestTogether_restoreIntoAnotherCluster(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := save(t)
	e := testkit.New(t, installed)
	s.restoredIn(&rig{Env: e, WithT: gomega.NewWithT(t), t: t, prefix: s.prefix})
}
