// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

// FieldManager is the field manager of everything that a RootSync applies.
const FieldManager = "configsync.gke.io"

// The labels and annotations of managed objects, as in Config Sync.
const (
	LabelManagedBy       = "app.kubernetes.io/managed-by"
	LabelPartOf          = "applyset.kubernetes.io/part-of"
	LabelDeclaredVersion = configsyncv1beta1.LabelDeclaredVersion

	AnnotationManaged    = configsyncv1beta1.AnnotationManaged
	AnnotationManager    = configsyncv1beta1.AnnotationManager
	AnnotationResourceID = configsyncv1beta1.AnnotationResourceID
	AnnotationContext    = "configsync.gke.io/git-context"
	AnnotationToken      = "configmanagement.gke.io/token"
	AnnotationSourcePath = configsyncv1beta1.AnnotationSourcePath
	AnnotationInventory  = "config.k8s.io/owning-inventory"

	ManagedBy       = "configmanagement.gke.io"
	ManagedEnabled  = configsyncv1beta1.ManagedEnabled
	ManagedDisabled = configsyncv1beta1.ManagedDisabled
)

// The annotations by which whoever declares an object says how it is treated.
const (
	AnnotationDeletion = "client.lifecycle.config.k8s.io/deletion"
	DeletionDetach     = "detach"
	// AnnotationOnRemove is what the packages of kpt say for the same.
	AnnotationOnRemove    = "cli-utils.sigs.k8s.io/on-remove"
	OnRemoveKeep          = "keep"
	AnnotationMutation    = "client.lifecycle.config.k8s.io/mutation"
	MutationIgnore        = "ignore"
	AnnotationDependsOn   = "config.kubernetes.io/depends-on"
	AnnotationLocalConfig = "config.kubernetes.io/local-config"
)

// Detached reports whether annotations, of a declaration or of what is there, have an object stay when it is declared no longer.
func Detached(annotations map[string]string) bool {
	return annotations[AnnotationDeletion] == DeletionDetach || annotations[AnnotationOnRemove] == OnRemoveKeep
}

// left are annotations that earlier versions of Config Sync or its webhook have put on
// objects. They are taken off with the rest.
var left = []string{"configsync.gke.io/declared-fields", "configmanagement.gke.io/cluster-name"}

// Version says what was synced: it is written on each object that is.
type Version struct {
	// Commit is a commit's hash, or the digest of an image.
	Commit string
	// Context is the JSON of the annotation "configsync.gke.io/git-context".
	Context string
}

// Stamp is the object as a sync applies it.
func Stamp(d Declared, sync Sync, v Version) *unstructured.Unstructured {
	out := d.Object.DeepCopy()
	labels := notNil(out.GetLabels())
	labels[LabelManagedBy] = ManagedBy
	labels[LabelPartOf] = sync.ApplySet()
	annotations := notNil(out.GetAnnotations())
	maps.Copy(annotations, map[string]string{
		AnnotationManaged:    ManagedEnabled,
		AnnotationManager:    sync.Manager(),
		AnnotationResourceID: IDOf(out).ResourceID(),
		AnnotationContext:    v.Context,
		AnnotationToken:      v.Commit,
		AnnotationInventory:  sync.Inventory(),
	})
	if !d.Implicit() {
		// Config Sync's webhook goes by this label, and leaves implicit namespaces alone.
		labels[LabelDeclaredVersion] = out.GroupVersionKind().Version
		annotations[AnnotationSourcePath] = d.Path
	}
	out.SetLabels(labels)
	out.SetAnnotations(annotations)
	return out
}

// IsStamp says whether a key is one of those that Stamp writes.
func IsStamp(label bool, key string) bool {
	if label {
		return key == LabelManagedBy || key == LabelPartOf || key == LabelDeclaredVersion
	}
	switch key {
	case AnnotationManaged, AnnotationManager, AnnotationResourceID, AnnotationContext, AnnotationToken, AnnotationSourcePath, AnnotationInventory:
		return true
	}
	return slices.Contains(left, key)
}

// Versions are the keys of the annotations that change with each commit, whether the
// object does or not.
func Versions() []string { return []string{AnnotationToken, AnnotationContext} }

// Managed says which reconciler manages an object by its annotations: "" if none. What
// has inherited the annotations of a managed object, as a ReplicaSet does, has another
// resource ID and is not managed. The form of id is that of ID.ResourceID.
func Managed(o metav1.Object, id ID) (manager string) {
	a := o.GetAnnotations()
	if a[AnnotationManaged] != ManagedEnabled || a[AnnotationResourceID] != id.ResourceID() {
		return ""
	}
	return a[AnnotationManager]
}

// OfNamespaceReconciler says whether a value of "configsync.gke.io/manager" is that of
// a RepoSync, from which a RootSync may take objects.
func OfNamespaceReconciler(manager string) bool {
	return manager != "" && !strings.HasPrefix(manager, ":")
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
