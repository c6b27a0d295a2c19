// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// ID names an object as an inventory does: by its kind without the version.
type ID struct {
	Group, Kind, Namespace, Name string
}

// NamespaceID is the ID of a Namespace.
func NamespaceID(name string) ID { return ID{Kind: "Namespace", Name: name} }

// GroupKind is the kind.
func (id ID) GroupKind() schema.GroupKind { return schema.GroupKind{Group: id.Group, Kind: id.Kind} }

// String is the form in the messages of Config Sync: "Role.rbac.authorization.k8s.io, shop/view",
// and "Namespace, /shop" for what is in no namespace.
func (id ID) String() string {
	return id.GroupKind().String() + ", " + id.Namespace + "/" + text.Word(id.Name)
}

// ResourceID is the value of the annotation "configsync.gke.io/resource-id", which tells
// a managed object from one that has inherited its annotations. The core group is
// empty before the first underscore; what is in no namespace has no part for it.
func (id ID) ResourceID() string {
	parts := []string{id.Group, strings.ToLower(id.Kind)}
	if id.Namespace != "" {
		parts = append(parts, id.Namespace)
	}
	return strings.Join(append(parts, id.Name), "_")
}

// Compare orders IDs for output that stays the same.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		cmp.Compare(id.Group, other.Group), cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name),
	)
}

// IsNamespace says whether it is a Namespace.
func (id ID) IsNamespace() bool { return id.Group == "" && id.Kind == "Namespace" }

// Declared is an object of a source of truth.
type Declared struct {
	// Object is as it was declared, without the metadata of Stamp. It is never changed.
	Object *unstructured.Unstructured
	// Path is that of its file in the source, with slashes; empty for a namespace
	// that is declared nowhere and only used.
	Path string
}

// ID is the name of the object.
func (d Declared) ID() ID { return IDOf(d.Object) }

// Implicit says whether nobody declared the object, a namespace that others need.
func (d Declared) Implicit() bool { return d.Path == "" }

// Disabled says whether the object is declared as not managed.
func (d Declared) Disabled() bool {
	return d.Object.GetAnnotations()[AnnotationManaged] == ManagedDisabled
}

// IDOf is the name of an object.
func IDOf(o *unstructured.Unstructured) ID {
	gk := o.GroupVersionKind().GroupKind()
	return ID{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ImplicitNamespace is a Namespace that is made along the way: as Config Sync makes it, it
// stays when nobody needs it any more.
func ImplicitNamespace(name string) Declared {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(name)
	u.SetAnnotations(map[string]string{AnnotationDeletion: DeletionDetach})
	return Declared{Object: u}
}
