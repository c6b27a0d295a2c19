// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// What is followed beside the kinds that are copied.
var (
	namespaces = inventory.ObjectSource{Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
	configs    = inventory.ObjectSource{Resource: hncv1alpha2.GroupVersion.WithResource("hierarchyconfigurations")}
	anchors    = inventory.ObjectSource{Resource: hncv1alpha2.GroupVersion.WithResource("subnamespaceanchors")}
	settingsOf = inventory.ObjectSource{Resource: hncv1alpha2.GroupVersion.WithResource("hncconfigurations")}
	// The CRDs of HierarchyConfigurations and of anchors. While one is on its way
	// out, so are its objects: that must take no tree apart, and delete no
	// subnamespace.
	configCRD = definitionOf(configs)
	anchorCRD = definitionOf(anchors)
	base      = []inventory.ObjectSource{namespaces, configs, anchors, settingsOf, configCRD, anchorCRD}
)

// secrets are kept whole if they can be copied.
var secrets = corev1.Resource("secrets")

func definitionOf(s inventory.ObjectSource) inventory.ObjectSource {
	return inventory.ObjectSource{Resource: inventory.CRDs, Name: s.Resource.Resource + "." + s.Resource.Group}
}

// Copy is what is kept of a copy.
type Copy struct {
	metav1.ObjectMeta
	// From is the namespace of its source.
	From   string
	Digest propagate.Digest
	// Role is the name of the Role that a RoleBinding refers to, and Rules the digest of the rules of a Role.
	Role, Rules string
	// HasStatus says that there is more in it than a copy has.
	HasStatus bool

	// explained says that somebody was seen to delete its source, or to change it so
	// that there is to be no copy.
	explained bool
	// wrote says that it is known from the answer to a write. What the watch tells
	// after that may be from before.
	wrote bool
}

// keep returns what is remembered of an object.
func keep(s inventory.ObjectSource, u *unstructured.Unstructured) metav1.Object {
	u.SetManagedFields(nil)
	switch s {
	case namespaces:
		return typed(u, &corev1.Namespace{})
	case configs:
		return typed(u, &hncv1alpha2.HierarchyConfiguration{})
	case anchors:
		return typed(u, &hncv1alpha2.SubnamespaceAnchor{})
	case settingsOf:
		return typed(u, &hncv1alpha2.HNCConfiguration{})
	case configCRD, anchorCRD:
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), UID: u.GetUID(), DeletionTimestamp: u.GetDeletionTimestamp()}}
	}
	if _, isCopy := u.GetLabels()[hncv1alpha2.LabelInheritedFrom]; isCopy {
		return copyOf(u)
	}
	if kind, _, _ := unstructured.NestedString(u.Object, "type"); s.Resource.GroupResource() == secrets && propagate.NeverCopied(kind) {
		delete(u.Object, "data") // the releases of Helm are by far the largest there are
	}
	return u
}

func typed[T metav1.Object](u *unstructured.Unstructured, into T) metav1.Object {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		// The API server has checked it against the schema. What identifies it is enough
		// not to take it for gone.
		ctrl.Log.WithName("hierarchy").Error(err, "An object cannot be read", "kind", u.GetKind(), "namespace", u.GetNamespace(), "name", u.GetName())
		into.SetName(u.GetName())
		into.SetNamespace(u.GetNamespace())
		into.SetUID(u.GetUID())
		into.SetResourceVersion(u.GetResourceVersion())
	}
	return into
}

func copyOf(u *unstructured.Unstructured) *Copy {
	_, hasStatus := u.Object["status"]
	kind := u.GroupVersionKind().GroupKind()
	c := &Copy{
		ObjectMeta: identity(u), From: u.GetLabels()[hncv1alpha2.LabelInheritedFrom], HasStatus: hasStatus,
		Role: propagate.BoundRole(kind, u), Rules: propagate.RulesOf(kind, u),
	}
	var err error
	if c.Digest, err = propagate.DigestOf(u); err != nil {
		ctrl.Log.WithName("hierarchy").Error(err, "A copy cannot be compared") // it is written again
	}
	return c
}

// identity is the metadata that is kept of a copy: what identifies it, and what a
// write must not take away.
func identity(o metav1.Object) metav1.ObjectMeta {
	labels, annotations := propagate.Staying(o)
	return metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Labels: labels, Annotations: annotations, Finalizers: o.GetFinalizers(), OwnerReferences: o.GetOwnerReferences(),
		DeletionTimestamp: o.GetDeletionTimestamp(),
	}
}

// describe is what counts of a source.
func describe(kind schema.GroupKind, u *unstructured.Unstructured) propagate.Object {
	return propagate.Describe(kind, u.GetNamespace(), u)
}

// treeObject is what counts of a namespace for the tree. Annotations that nobody
// manages stay out, or else each change of one would be looked at.
func treeObject(ns *corev1.Namespace, managed tree.Keys) *tree.Object {
	o := &tree.Object{Labels: ns.Labels, Terminating: ns.DeletionTimestamp != nil}
	for key, value := range ns.Annotations {
		if strings.HasPrefix(key, hncv1alpha2.GroupName+"/") || key == v1alpha1.InheritedPodSecurityAnnotation || managed.Has(key) {
			if o.Annotations == nil {
				o.Annotations = map[string]string{}
			}
			o.Annotations[key] = value
		}
	}
	return o
}
