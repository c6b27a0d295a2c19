// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"cmp"
	"context"
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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
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

// restoration is what the API server answered when objects were restored, by object.
type restoration struct {
	refused  map[string]string
	warnings map[string][]string
}

// HandleWarningHeaderWithContext takes a warning that a response has, for the object that was created.
func (a *restoration) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if name, ok := ctx.Value(a).(string); ok {
		a.warnings[name] = append(a.warnings[name], text)
	}
}

// restore creates objects as Velero does, which does not change existing objects.
func restore(t *testing.T, e *testkit.Env, saved []*unstructured.Unstructured) *restoration {
	t.Helper()
	e.Grant(t, "", velero, testkit.Rule("*", []string{"*"}, "*"))
	out := &restoration{map[string]string{}, map[string][]string{}}
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: velero}
	config.WarningHandlerWithContext = out
	c, err := client.New(config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	for _, o := range saved {
		o = o.DeepCopy()
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["velero.io/restore-name"] = "r"
		o.SetLabels(labels)
		g.Eventually(func() error {
			err := c.Create(context.WithValue(t.Context(), out, nameOf(o)), o.DeepCopy())
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not found") || apierrors.IsServiceUnavailable(err) {
				return err // the rights of the test are not known yet, or a namespace that was just created is not
			}
			if err != nil && !apierrors.IsAlreadyExists(err) {
				out.refused[nameOf(o)] = err.Error()
			}
			return nil
		}, story.Patience, story.Often).Should(gomega.Succeed())
	}
	return out
}

func nameOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

// strays are the objects that have marks of other objects, or the annotation of a restored copy.
func strays(objects []*unstructured.Unstructured) (out []string) {
	for _, o := range objects {
		_, marked := o.GetLabels()[v1alpha1.MarkedLabel]
		_, restored := o.GetAnnotations()[v1alpha1.RestoredCopyAnnotation]
		if marked && !v1alpha1.Marked(o) || restored {
			out = append(out, nameOf(o))
		}
	}
	return out
}

// saved is a backup of three namespaces: a tree of two, and one by itself.
type saved struct {
	*rig
	namespaces []string
	objects    []*unstructured.Unstructured
	// answers are what the command line says of the namespaces, and checked what the commands of the guide say.
	answers, checked string
}

func save(t *testing.T) *saved {
	t.Helper()
	r := shared(t)
	r.Apply(ns("p") + role("p", "view", "get"))
	r.Apply(anchor("p", "s"))
	r.See("role view -n {s}"+verbs, "get")
	r.Apply(upstream("s", "karmada", "resourcetemplate.karmada.io/deletion-protected") + upstream("s", "kruise", "policy.kruise.io/delete-protection"))
	r.Apply(ns("u") + protected("s", "kept") + protected("u", "kept") + cm("u", "selected", "1") + cm("u", "loose", "1"))
	r.Apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{u}"}, spec: {reason: data, protectedResources: [
		{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: "{u}", name: selected}]}]}}`)
	r.See(`cm selected -n {u} -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{u}")
	for _, n := range []string{"s", "u"} {
		r.See(`ns {`+n+`} -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
	}
	out := &saved{rig: r, namespaces: []string{r.Long("{p}"), r.Long("{s}"), r.Long("{u}")}}
	r.Eventually(func() string {
		last := out.answers
		out.answers = r.asked()
		return gocmp.Diff(last, out.answers)
	}, story.Patience, story.Slower).Should(gomega.BeEmpty())
	out.checked = r.checked()
	out.objects = backup(objects(t, r.Env, out.namespaces...))
	return out
}

// upstream is a ConfigMap that the label of another project protects.
func upstream(namespace, name, label string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: \"{%s}\", labels: {%s: Always}}}\n---\n", name, namespace, label)
}

// checked is what the commands of the guide print of the namespaces of the test.
func (r *rig) checked() string {
	r.T.Helper()
	var out strings.Builder
	for line := range strings.Lines(r.Reader(r.T).Does(r.T, page.Read(r.T, "docs/guides/back-up-and-restore.md"), "Check the result")) {
		if strings.Contains(line, r.Prefix+"-") {
			out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
	}
	return out.String()
}

// asked is what the command line says of the namespaces, without field managers, which are others after a restore.
func (r *rig) asked() string {
	r.T.Helper()
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

// restoredIn restores the backup, and expects that labels of users protect at once, the answers of before and no stray mark.
func (s *saved) restoredIn(r *rig) *restoration {
	r.T.Helper()
	got := restore(r.T, r.Env, s.objects)
	r.Expect(gocmp.Diff(map[string]string{}, got.refused)).To(gomega.BeEmpty())
	for _, o := range s.objects {
		for _, key := range userLabels {
			if o.GetLabels()[key] != v1alpha1.ProtectAlways {
				continue
			}
			if err := r.Client.Delete(r.T.Context(), o.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "is protected") {
				r.T.Errorf("%s is deleted with %s: %v", nameOf(o), key, err)
			}
		}
	}
	r.Eventually(func() string { return gocmp.Diff(s.answers, r.asked()) }, story.Patience, story.Slower).Should(gomega.BeEmpty())
	r.Eventually(func() []string { return strays(objects(r.T, r.Env, s.namespaces...)) }, story.Patience, story.Often).Should(gomega.BeEmpty())
	r.Expect(gocmp.Diff(s.checked, r.checked())).To(gomega.BeEmpty())
	r.See(`role view -n {s} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "{p}")
	r.refused("delete ns {u}", "2 protected objects: configmaps/kept, configmaps/selected")
	return got
}

// warned are the namespaces and copies that the restoration created without labels of Holdfast.
func (s *saved) warned(got *restoration) {
	s.T.Helper()
	want := []string{"Namespace {p}", "Namespace {s}", "Namespace {u}", "Role {s}/view"}
	for i := range want {
		want[i] = s.Long(want[i])
	}
	if diff := gocmp.Diff(want, slices.Sorted(maps.Keys(got.warnings))); diff != "" {
		s.T.Errorf("objects with warnings (-want +got):\n%s", diff)
	}
	for name, all := range got.warnings {
		if len(all) != 1 || !strings.HasPrefix(all[0], "created without the label") {
			s.T.Errorf("%s: warnings %q", name, all)
		}
	}
}

// userLabels are those that a user sets to protect an object.
var userLabels = []string{v1alpha1.DeletionProtectedLabel, "resourcetemplate.karmada.io/deletion-protected", "policy.kruise.io/delete-protection"}

// TestMarks_ofAnotherObject in internal/deletion has the marks and the override of a restored object, and TestRestored in
// internal/hierarchy the trees and copies of which a part is restored.
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
	s.warned(s.restoredIn(s.rig))
}

// A restored Namespace has the claims of the old one, which have no effect.
func TestTogether_restoredClaims(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "{c}", annotations: {holdfast.dev/claims: "of 59ab, declared rootsync/` + story.Syncs + `/{sync} -"}}}`)
	r.answers("owner ns {c}", 0, "{c}: nobody claims it")
	r.Synced("sync", r.Commit("sync", ns("c")))
	r.answers("owner ns {c}", 0, "owner: RootSync {sync} (declared)")
}

func TestTogether_restoreIntoAnotherCluster(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := save(t)
	e := testkit.New(t, installed)
	s.warned(s.restoredIn(&rig{Story: story.On(t, e, s.Prefix)}))
}

// Two namespaces of the backup are in the cluster when Holdfast goes down, and one is not. What is in the two is restored.
func TestTogether_restoreWhileNoReplicaAnswers(t *testing.T) {
	const namespaces = "holdfast-hierarchy-namespaces"
	testkit.Long(t)
	t.Parallel()
	s := save(t)
	e := testkit.New(t, installed)
	r := &rig{Story: story.On(t, e, s.Prefix)}
	r.Apply(ns("p") + ns("u"))
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, o := range s.objects {
		if o.GetNamespace() == r.Long("{s}") {
			want[nameOf(o)] = `namespaces "{s}" not found`
		}
	}
	for object, by := range map[string]string{
		"Namespace {p}": namespaces, "Namespace {s}": namespaces, "Namespace {u}": namespaces, "Role {u}/copy": "holdfast-hierarchy-copies",
		"HierarchyConfiguration {p}/hierarchy": "hierarchyconfigurations.hnc.x-k8s.io", "SubnamespaceAnchor {p}/{s}": "subnamespaceanchors.hnc.x-k8s.io",
	} {
		want[r.Long(object)] = by
	}
	copied := r.Long(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: copy, namespace: "{u}", labels: {hnc.x-k8s.io/inherited-from: "{p}"}}}`)
	role := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(copied), &role.Object); err != nil {
		t.Fatal(err)
	}
	refused := restore(t, e, append(slices.Clone(s.objects), role)).refused
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(refused))); diff != "" {
		t.Errorf("refused while no replica answers (-want +got):\n%s", diff)
	}
	for object, message := range refused {
		if !strings.Contains(message, r.Long(want[object])) {
			t.Errorf("%s: %s, want %s", object, message, want[object])
		}
	}

	e.Manager = e.StartManager(t)
	r.Eventually(func() map[string]string { return restore(t, e, s.objects).refused }, story.Patience, story.Slower).Should(gomega.BeEmpty())
	s.restoredIn(r)
}
