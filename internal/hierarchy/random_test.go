// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// Two people change trees and what is copied at the same time, while two replicas
// come and go: it ends in what a plain recomputation from the objects says, whatever
// came first.
func TestRandom_editsByTwoOnTwoReplicasEndAsRecomputed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	for _, path := range []string{"config/crd/hnc", "config/rbac/hierarchy.yaml"} {
		if _, err := manager.Kubectl(t.Context(), e.Cluster, "apply", "--server-side", "-f", path); err != nil {
			t.Fatal(err)
		}
	}
	r := &random{rig: &rig{Env: e, WithT: gomega.NewWithT(t), t: t, prefix: "r"}, args: configurationOf(t, "hierarchy: {mode: Enforce}")}
	replicas := []*manager.Process{e.StartManager(t, r.args...), e.StartManager(t, r.args...)}
	for i := range 10 {
		r.Apply(t, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+r.name(fmt.Sprint("n", i))+"}}")
	}
	for round := range 4 {
		seed := rand.Uint64()
		t.Logf("round %d: seed %d", round, seed)
		var people sync.WaitGroup
		for person := range uint64(2) {
			people.Go(func() { r.edits(t.Context(), rand.New(rand.NewPCG(seed, person)), 60) })
		}
		one := round % len(replicas)
		if err := replicas[one].Stop(); err != nil {
			t.Error(err)
		}
		replicas[one] = e.StartManager(t, r.args...)
		people.Wait()
		r.Eventually(r.difference, "180s", "500ms").Should(gomega.BeEmpty(), "seed %d", seed)
	}
}

// random makes random edits.
type random struct {
	*rig
	args []string
}

func (r *random) edits(ctx context.Context, rng *rand.Rand, n int) {
	namespace := func() string { return r.name(fmt.Sprint("n", rng.IntN(10))) }
	for range n {
		at := namespace()
		if rng.IntN(4) == 0 {
			at = r.name(fmt.Sprint("s", rng.IntN(4)))
		}
		var err error
		switch rng.IntN(10) {
		case 0, 1:
			err = r.put(ctx, hierarchyConfiguration(at, namespace()))
		case 2:
			err = r.put(ctx, hierarchyConfiguration(at, ""))
		case 3:
			err = r.Client.Delete(ctx, hierarchyConfiguration(at, ""))
		case 4:
			err = r.Client.Create(ctx, &hncv1alpha2.SubnamespaceAnchor{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: r.name(fmt.Sprint("s", rng.IntN(4)))}})
		case 5:
			err = r.Client.Delete(ctx, &hncv1alpha2.SubnamespaceAnchor{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: r.name(fmt.Sprint("s", rng.IntN(4)))}})
		case 6:
			err = r.put(ctx, role(at, fmt.Sprint("k", rng.IntN(3)), rng))
		case 7:
			err = r.Client.Delete(ctx, role(at, fmt.Sprint("k", rng.IntN(3)), rng))
		case 8:
			err = r.put(ctx, binding(at, rng))
		case 9:
			err = r.Client.Delete(ctx, binding(at, rng))
		}
		if !expected(err) {
			r.t.Errorf("an edit failed: %v", err)
		}
	}
}

// expected says whether an error is one that a person gets who does not look first,
// or whom somebody overtakes.
func expected(err error) bool {
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) ||
		apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

func hierarchyConfiguration(namespace, parent string) *hncv1alpha2.HierarchyConfiguration {
	return &hncv1alpha2.HierarchyConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hncv1alpha2.HierarchyConfigurationName},
		Spec:       hncv1alpha2.HierarchyConfigurationSpec{Parent: parent, AllowCascadingDeletion: true},
	}
}

func role(namespace, name string, rng *rand.Rand) *rbacv1.Role {
	out := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{fmt.Sprint("r", rng.IntN(5))}, Verbs: []string{"get"}}},
	}
	switch rng.IntN(5) {
	case 0:
		out.Annotations = map[string]string{hncv1alpha2.AnnotationNone: "true"}
	case 1:
		out.Annotations = map[string]string{hncv1alpha2.AnnotationTreeSelect: "!r-n" + fmt.Sprint(rng.IntN(10))}
	}
	return out
}

// binding is a RoleBinding to one of the Roles. Those of one name refer to one Role: otherwise one could not become a copy
// of another.
func binding(namespace string, rng *rand.Rand) *rbacv1.RoleBinding {
	n := rng.IntN(3)
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("b", n)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: fmt.Sprint("k", n)},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: fmt.Sprint("u", rng.IntN(3))}},
	}
}

// put writes an object whether it is there or not; what others wrote in it stays.
func (r *random) put(ctx context.Context, o client.Object) error {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	gvk, err := r.Client.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: u}
	object.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("a-person"), client.ForceOwnership)
}

// difference is what the cluster has and a recomputation has not, or the other way.
func (r *random) difference() string {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var namespaces corev1.NamespaceList
	var configs hncv1alpha2.HierarchyConfigurationList
	var anchors hncv1alpha2.SubnamespaceAnchorList
	var roles rbacv1.RoleList
	var bindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&namespaces, &configs, &anchors, &roles, &bindings} {
		if err := r.Client.List(ctx, list); err != nil {
			return err.Error()
		}
	}
	want, have := map[string]string{}, map[string]string{}
	t, sources := recompute(&namespaces, &configs, &anchors, &roles, &bindings)
	there := func(name, namespace string) propagate.Role { return roleIn(&roles, namespace, name) }
	for i := range namespaces.Items {
		ns := &namespaces.Items[i]
		o := t.Get(ns.Name)
		if ns.DeletionTimestamp != nil {
			return ns.Name + " is on its way out"
		}
		want["labels of "+ns.Name], have["labels of "+ns.Name] = fmt.Sprint(o.Labels), fmt.Sprint(ns.Labels)
		if o.Managed && (o.Parent != "" || len(o.Children) > 0) {
			want["children of "+ns.Name] = fmt.Sprint(o.Children)
		}
		for _, name := range []string{"b0", "b1", "b2"} {
			v := sources.Decide(t, propagate.Key{Kind: propagate.RoleBindingKind, Name: name}, ns.Name, there)
			if v.Action == propagate.Copy {
				want["binding "+ns.Name+"/"+name] = v.Source.Namespace + " " + grants(&bindings, v.Source.Namespace, name)
			}
			if v.Action == propagate.Leave && o.Halted() {
				if is := copiedBinding(&bindings, ns.Name, name); is != "" {
					want["binding "+ns.Name+"/"+name] = is
				}
			}
		}
		for _, name := range []string{"k0", "k1", "k2"} {
			v := sources.Decide(t, propagate.Key{Kind: roleKind, Name: name}, ns.Name, nil)
			if v.Action == propagate.Copy {
				want["role "+ns.Name+"/"+name] = v.Source.Namespace + " " + content(&roles, v.Source.Namespace, name)
			}
			if v.Action == propagate.Leave && o.Halted() { // what was there may stay, and what was not may be missing
				if is := copied(&roles, ns.Name, name); is != "" {
					want["role "+ns.Name+"/"+name] = is
				}
			}
		}
	}
	for i := range configs.Items {
		if c := &configs.Items[i]; t.Get(c.Namespace) != nil && (t.Get(c.Namespace).Parent != "" || len(t.Get(c.Namespace).Children) > 0) {
			have["children of "+c.Namespace] = fmt.Sprint(c.Status.Children)
		}
	}
	for i := range roles.Items {
		if ro := &roles.Items[i]; ro.Labels[hncv1alpha2.LabelInheritedFrom] != "" {
			have["role "+ro.Namespace+"/"+ro.Name] = copied(&roles, ro.Namespace, ro.Name)
		}
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		if is := copiedBinding(&bindings, b.Namespace, b.Name); is != "" {
			have["binding "+b.Namespace+"/"+b.Name] = is
		}
	}
	for i := range anchors.Items {
		a := &anchors.Items[i]
		if a.DeletionTimestamp != nil {
			return a.Name + " is on its way out"
		}
		key := "anchor " + a.Namespace + "/" + a.Name
		want[key], have[key] = string(t.Get(a.Namespace).Anchors[a.Name]), string(a.Status.State)
	}
	return cmp.Diff(want, have)
}

var roleKind = rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind()

// recompute makes the tree and the sources from what a cluster has.
func recompute(
	namespaces *corev1.NamespaceList, configs *hncv1alpha2.HierarchyConfigurationList, anchors *hncv1alpha2.SubnamespaceAnchorList,
	roles *rbacv1.RoleList, bindings *rbacv1.RoleBindingList,
) (*tree.Tree, *propagate.Sources) {
	excluded := map[string]bool{"kube-system": true, "kube-public": true, "kube-node-lease": true, "hnc-system": true, "holdfast-system": true}
	t := tree.New(tree.Settings{Managed: func(name string) bool { return !excluded[name] }})
	var edits []tree.Edit
	for i := range namespaces.Items {
		ns := &namespaces.Items[i]
		edits = append(edits, tree.SetNamespace(ns.Name, &tree.Object{Labels: ns.Labels, Annotations: ns.Annotations, Terminating: ns.DeletionTimestamp != nil}))
	}
	for i := range configs.Items {
		edits = append(edits, tree.SetConfig(configs.Items[i].Namespace, &configs.Items[i].Spec))
	}
	for i := range anchors.Items {
		edits = append(edits, tree.SetAnchor(anchors.Items[i].Namespace, anchors.Items[i].Name, &anchors.Items[i].Spec))
	}
	t, _ = t.Apply(edits...)
	rules := propagate.Rules{}
	sources := propagate.NewSources(rules)
	for i := range roles.Items {
		if ro := &roles.Items[i]; ro.Labels[hncv1alpha2.LabelInheritedFrom] == "" {
			sources = sources.With(rules.NewSource(propagate.Object{
				Kind: roleKind, Namespace: ro.Namespace, Name: ro.Name, Labels: ro.Labels, Annotations: ro.Annotations, Finalizers: len(ro.Finalizers) > 0,
			}))
		}
	}
	for i := range bindings.Items {
		if b := &bindings.Items[i]; b.Labels[hncv1alpha2.LabelInheritedFrom] == "" {
			o := propagate.Object{Kind: propagate.RoleBindingKind, Namespace: b.Namespace, Name: b.Name}
			if b.RoleRef.Kind == "Role" {
				o.Role = b.RoleRef.Name
			}
			sources = sources.With(rules.NewSource(o))
		}
	}
	return t, sources
}

// roleIn is the Role of a name in a namespace.
func roleIn(roles *rbacv1.RoleList, namespace, name string) propagate.Role {
	ro := find(roles, namespace, name)
	if ro == nil {
		return propagate.Role{}
	}
	return propagate.Role{Origin: or(ro.Labels[hncv1alpha2.LabelInheritedFrom], namespace), Rules: fmt.Sprint(ro.Rules)}
}

// grants is what a RoleBinding grants to whom.
func grants(bindings *rbacv1.RoleBindingList, namespace, name string) string {
	for i := range bindings.Items {
		if b := &bindings.Items[i]; b.Namespace == namespace && b.Name == name {
			return fmt.Sprint(b.RoleRef, b.Subjects)
		}
	}
	return ""
}

// copiedBinding is the same for a copy, with where it comes from; "" for a RoleBinding that is none.
func copiedBinding(bindings *rbacv1.RoleBindingList, namespace, name string) string {
	for i := range bindings.Items {
		if b := &bindings.Items[i]; b.Namespace == namespace && b.Name == name && b.Labels[hncv1alpha2.LabelInheritedFrom] != "" {
			return b.Labels[hncv1alpha2.LabelInheritedFrom] + " " + grants(bindings, namespace, name)
		}
	}
	return ""
}

func find(roles *rbacv1.RoleList, namespace, name string) *rbacv1.Role {
	for i := range roles.Items {
		if ro := &roles.Items[i]; ro.Namespace == namespace && ro.Name == name {
			return ro
		}
	}
	return nil
}

func content(roles *rbacv1.RoleList, namespace, name string) string {
	if ro := find(roles, namespace, name); ro != nil {
		return fmt.Sprint(ro.Rules)
	}
	return ""
}

func copied(roles *rbacv1.RoleList, namespace, name string) string {
	ro := find(roles, namespace, name)
	if ro == nil || ro.Labels[hncv1alpha2.LabelInheritedFrom] == "" {
		return ""
	}
	return ro.Labels[hncv1alpha2.LabelInheritedFrom] + " " + fmt.Sprint(ro.Rules)
}

// configurationOf are the arguments of a manager with a configuration of its own.
func configurationOf(t testing.TB, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config.Empty+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", file, "--config-map", ""}
}
