// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// What HNC 1.1 leaves on a healthy cluster, made by hand from what is known of HNC:
// a root above a few hundred full namespaces and some subnamespaces, and a hundred
// sources that are copied to those with the label gets=yes.
const (
	fullChildren, subnamespaces       = 500, 10
	roles, roleBindings, configMaps   = 20, 10, 70
	sourcesOfRoot, namespacesThatGets = roles + roleBindings + configMaps, 6
	copiesOfRoot                      = sourcesOfRoot * namespacesThatGets
)

const (
	gets         = "gets"
	managedKey   = "team.example.com/colour"
	selectGets   = gets + "=yes"
	root         = "root"
	hncFinalizer = "hnc.x-k8s.io"
)

func child(i int) string { return fmt.Sprintf("child-%03d", i) }
func sub(i int) string   { return fmt.Sprintf("sub-%d", i) }

// parallelly makes objects, many at the same time.
func (r *rig) parallelly(objects []client.Object) {
	r.t.Helper()
	var workers sync.WaitGroup
	queue := make(chan client.Object)
	errs := make(chan error, len(objects))
	for range 16 {
		workers.Go(func() {
			for o := range queue {
				if err := r.Client.Create(r.t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
					errs <- fmt.Errorf("make %T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err)
				}
			}
		})
	}
	for _, o := range objects {
		queue <- o
	}
	close(queue)
	workers.Wait()
	close(errs)
	for err := range errs {
		r.t.Fatal(err)
	}
}

// labelled are the labels of a namespace with some ancestors, the nearest first.
func labelled(name string, above ...string) map[string]string {
	out := map[string]string{"hnc.x-k8s.io/included-namespace": "true", name + ".tree.hnc.x-k8s.io/depth": "0"}
	for i, a := range above {
		out[a+".tree.hnc.x-k8s.io/depth"] = strconv.Itoa(i + 1)
	}
	return out
}

func namespaceOf(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// asHNCLeftIt makes all of it.
func (r *rig) asHNCLeftIt() {
	r.t.Helper()
	r.parallelly(namespacesOfHNC())
	r.parallelly(hierarchyOfHNC())
	var objects []client.Object
	for _, o := range sources() {
		objects = append(objects, o)
		for i := range namespacesThatGets {
			objects = append(objects, copyOfHNC(o, child(i)))
		}
	}
	r.parallelly(objects)
	def := namespaceOf("default", nil)
	if err := r.Client.Get(r.t.Context(), client.ObjectKeyFromObject(def), def); err != nil {
		r.t.Fatal(err)
	}
	maps.Copy(def.Labels, labelled("default"))
	if err := r.Client.Update(r.t.Context(), def); err != nil {
		r.t.Fatal(err)
	}
	r.countOfHNC()
}

func namespacesOfHNC() []client.Object {
	above := labelled(root)
	above[managedKey] = "red"
	out := []client.Object{namespaceOf(root, above)}
	below := func(name string) *corev1.Namespace {
		labels := labelled(name, root)
		labels[managedKey] = "red"
		return namespaceOf(name, labels)
	}
	for i := range fullChildren {
		ns := below(child(i))
		if i < namespacesThatGets {
			ns.Labels[gets] = "yes"
		}
		out = append(out, ns)
	}
	for i := range subnamespaces {
		ns := below(sub(i))
		ns.Annotations = map[string]string{"hnc.x-k8s.io/subnamespace-of": root}
		out = append(out, ns)
	}
	return out
}

func hierarchyOfHNC() []client.Object {
	of := func(ns string) *hncv1alpha2.HierarchyConfiguration {
		return &hncv1alpha2.HierarchyConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hierarchy"}}
	}
	top := of(root)
	top.Finalizers = []string{"hnc.x-k8s.io/hasSubnamespace"}
	top.Spec.Labels = []hncv1alpha2.MetaKVP{{Key: managedKey, Value: "red"}}
	var out []client.Object
	below := func(name string) {
		c := of(name)
		c.Spec.Parent = root
		out = append(out, c)
		top.Status.Children = append(top.Status.Children, name)
	}
	for i := range fullChildren {
		below(child(i))
	}
	for i := range subnamespaces {
		below(sub(i))
		out = append(out, &hncv1alpha2.SubnamespaceAnchor{
			ObjectMeta: metav1.ObjectMeta{Namespace: root, Name: sub(i), Finalizers: []string{hncFinalizer}},
			Status:     hncv1alpha2.SubnamespaceAnchorStatus{State: "Ok"},
		})
	}
	slices.Sort(top.Status.Children)
	return append(out, top)
}

// sources are those in the root.
func sources() []client.Object {
	var out []client.Object
	add := func(o client.Object, name string, i int) {
		o.SetNamespace(root)
		o.SetName(fmt.Sprintf("%s-%d", name, i))
		o.SetLabels(map[string]string{"app": name})
		o.SetAnnotations(map[string]string{"propagate.hnc.x-k8s.io/select": selectGets, "example.com/note": "copied", "example.com/stripped": "yes"})
		out = append(out, o)
	}
	for i := range roles {
		add(&rbacv1.Role{Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}}}}, "role", i)
	}
	for i := range roleBindings {
		add(&rbacv1.RoleBinding{
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "role-0"},
			Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "somebody"}},
		}, "binding", i)
	}
	for i := range configMaps {
		add(&corev1.ConfigMap{Data: map[string]string{"v": strconv.Itoa(i)}}, "config", i)
	}
	return out
}

// copyOfHNC is the copy of a source as HNC writes it.
func copyOfHNC(source client.Object, namespace string) client.Object {
	c, ok := source.DeepCopyObject().(client.Object)
	if !ok {
		panic("no object")
	}
	c.SetResourceVersion("")
	c.SetUID("")
	c.SetNamespace(namespace)
	annotations := c.GetAnnotations()
	delete(annotations, "propagate.hnc.x-k8s.io/select")
	delete(annotations, "example.com/stripped")
	c.SetAnnotations(annotations)
	labels := c.GetLabels()
	labels["app.kubernetes.io/managed-by"] = "hnc.x-k8s.io"
	labels["hnc.x-k8s.io/inherited-from"] = source.GetNamespace()
	c.SetLabels(labels)
	return c
}

// countOfHNC makes the HNCConfiguration, with a status that counts what there is:
// each namespace has a ConfigMap of the cluster's own, which is a source too.
func (r *rig) countOfHNC() {
	r.t.Helper()
	managed := 1 + fullChildren + subnamespaces + 1 // default
	r.Eventually(func() int {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(known["cm"])
		if err := r.Client.List(r.t.Context(), l, client.MatchingFields{"metadata.name": "kube-root-ca.crt"}); err != nil {
			r.t.Fatal(err)
		}
		n := 0
		for i := range l.Items {
			if ns := l.Items[i].Namespace; ns == root || ns == "default" || strings.HasPrefix(ns, "sub-") || strings.HasPrefix(ns, "child-") {
				n++
			}
		}
		return n
	}, "180s", "500ms").Should(gomega.Equal(managed))
	count := func(group, resource, mode string, copies, sources int) hncv1alpha2.ResourceStatus {
		return hncv1alpha2.ResourceStatus{
			Group: group, Version: "v1", Resource: resource, Mode: hncv1alpha2.SynchronizationMode(mode),
			NumPropagatedObjects: &copies, NumSourceObjects: &sources,
		}
	}
	const rbac = "rbac.authorization.k8s.io"
	removed := count("", "limitranges", "Remove", 0, 0)
	removed.NumSourceObjects = nil
	r.parallelly([]client.Object{&hncv1alpha2.HNCConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "config"},
		Spec: hncv1alpha2.HNCConfigurationSpec{Resources: []hncv1alpha2.ResourceSpec{
			{Resource: "secret", Mode: "AllowPropagate"}, {Resource: "configmaps", Mode: "Propagate"},
			{Resource: "limitranges", Mode: "Remove"}, {Resource: "resourcequotas", Mode: "Ignore"},
		}},
		Status: hncv1alpha2.HNCConfigurationStatus{Resources: []hncv1alpha2.ResourceStatus{
			count("", "configmaps", "Propagate", configMaps*namespacesThatGets, configMaps+managed),
			removed,
			{Version: "v1", Resource: "resourcequotas", Mode: "Ignore"},
			count("", "secret", "AllowPropagate", 0, 0),
			count(rbac, "rolebindings", "Propagate", roleBindings*namespacesThatGets, roleBindings),
			count(rbac, "roles", "Propagate", roles*namespacesThatGets, roles),
		}},
	}})
}
