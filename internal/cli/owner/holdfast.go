// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/crds"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// partOfLabel is on what installs Holdfast, with the value partOf.
const partOfLabel, partOf = "app.kubernetes.io/part-of", "holdfast"

// ofHoldfast is the answer about what Holdfast is made of, and what it keeps for others; not
// own for anything else.
func ofHoldfast(f *Facts) (a Answer, own bool) {
	if name, what := forRootSync(f); name != "" {
		return Answer{By: ByRootSync, Name: "RootSync " + name, How: what, Text: "RootSync " + name + ", of which it is the " + what}, true
	}
	if parent := anchorOver(f); parent != "" {
		return Answer{
			By: ByAnchor, Name: "the anchor in namespace " + parent, How: "subnamespace",
			Text: "the anchor in namespace " + parent + ", which says where this namespace stands",
		}, true
	}
	text := ""
	switch labels := f.Meta.Labels; {
	case labels[admission.ManagedByLabel] == admission.ManagedByValue:
		text = "Holdfast, which puts it back while the ClusterRole " + admission.AnchorName + " is there"
	case f.ID.GroupKind() == schema.GroupKind{Group: v1alpha1.GroupName, Kind: "Holdfast"}:
		text = "Holdfast, which says in it how it is"
	case broughtByManager(f):
		text = "Holdfast, which brings this kind and keeps it up to date"
	case isDefinition(f) && strings.HasSuffix(f.ID.Name, "."+v1alpha1.GroupName):
		text = "Holdfast, of which it is a kind"
	case labels[partOfLabel] == partOf:
		text = "Holdfast's installation"
	default:
		return Answer{}, false
	}
	return Answer{By: ByHoldfast, Name: "Holdfast", Text: text}, true
}

func isDefinition(f *Facts) bool {
	return f.ID.GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// broughtByManager says whether Holdfast's manager has applied a definition.
func broughtByManager(f *Facts) bool {
	return isDefinition(f) && slices.ContainsFunc(f.Meta.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == crds.FieldManager })
}

// forRootSync is the RootSync for which Holdfast keeps an object, and what that is to it.
func forRootSync(f *Facts) (name, what string) {
	if f.Meta.Labels[configsyncv1beta1.LabelSyncKind] == configsyncv1beta1.SyncKindRootSync && f.ID.Group == rbacv1.GroupName {
		return f.Meta.Labels[configsyncv1beta1.LabelSyncName], "binding of rights"
	}
	if f.ID.Namespace != rootSyncs {
		return "", ""
	}
	switch f.ID.GroupKind() {
	case schema.GroupKind{Group: kptv1alpha1.GroupName, Kind: "ResourceGroup"}:
		return f.ID.Name, "inventory"
	case schema.GroupKind{Kind: "ServiceAccount"}:
		for _, sync := range []string{configsyncv1beta1.DefaultRootSync, strings.TrimPrefix(f.ID.Name, reconciler)} {
			if object.Sync(sync).Reconciler() == f.ID.Name {
				return sync, "account"
			}
		}
	}
	return "", ""
}

// reconciler begins the names of the accounts of RootSyncs.
const reconciler = "root-reconciler-"

// anchorOver is the parent whose anchor keeps the place of a namespace, for the object in it
// that says so.
func anchorOver(f *Facts) string {
	if f.Namespace == nil || f.ID.GroupKind() != (schema.GroupKind{Group: hncv1alpha2.GroupName, Kind: "HierarchyConfiguration"}) {
		return ""
	}
	return f.Namespace.Annotations[hncv1alpha2.AnnotationSubnamespaceOf]
}
