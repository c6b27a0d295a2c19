// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builtin knows which kinds there are without asking a cluster: those of
// Kubernetes, and those that come with Holdfast.
package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
)

// Scopes says of the kinds that are built in whether their objects are in namespaces.
type Scopes struct{}

// Namespaced says whether the objects of a kind are in namespaces, if it is known.
func (Scopes) Namespaced(kind schema.GroupKind) (namespaced, known bool) {
	return !ClusterScoped(kind), all.Has(kind)
}

// ClusterScoped says whether a kind is one that is known to have no namespace.
func ClusterScoped(kind schema.GroupKind) bool { return clusterScoped.Has(kind) }

// clusterScoped are the kinds of Kubernetes and of Holdfast without a namespace.
var clusterScoped = gather(map[string]string{
	"":                             "ComponentStatus Namespace Node PersistentVolume",
	"admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
	"apiextensions.k8s.io":         "CustomResourceDefinition",
	"apiregistration.k8s.io":       "APIService",
	"authentication.k8s.io":        "SelfSubjectReview TokenReview",
	"authorization.k8s.io":         "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
	"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"internal.apiserver.k8s.io":    "StorageVersion",
	"networking.k8s.io":            "IngressClass IPAddress ServiceCIDR",
	"node.k8s.io":                  "RuntimeClass",
	"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourceSlice ResourcePoolStatusRequest",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
	"storagemigration.k8s.io":      "StorageVersionMigration",
	v1alpha1.GroupName:             "Holdfast ResourceDeletionProtection DeletionOverride EvictionPolicy ServiceAccountTemplate",
	hncv1alpha2.GroupName:          "HNCConfiguration",
})

// all are the kinds of the types that every client of Kubernetes has, and those that
// none has.
var all = func() sets.Set[schema.GroupKind] {
	out := gather(map[string]string{
		hncv1alpha2.GroupName:       "HierarchyConfiguration SubnamespaceAnchor",
		configsyncv1beta1.GroupName: "RootSync RepoSync",
		kptv1alpha1.GroupName:       "ResourceGroup",
	}).Union(clusterScoped)
	for gvk := range clientgoscheme.Scheme.AllKnownTypes() {
		out.Insert(gvk.GroupKind())
	}
	return out
}()

func gather(kinds map[string]string) sets.Set[schema.GroupKind] {
	out := sets.New[schema.GroupKind]()
	for group, names := range kinds {
		for name := range strings.FieldsSeq(names) {
			out.Insert(schema.GroupKind{Group: group, Kind: name})
		}
	}
	return out
}
