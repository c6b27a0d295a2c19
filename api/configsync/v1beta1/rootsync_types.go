// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RootSync keeps the objects that a source declares, of any kind and in any namespace,
// in the cluster as they are declared. It is in the namespace
// config-management-system.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=rootsyncs,scope=Namespaced
// +kubebuilder:printcolumn:name=RenderingCommit,type=string,JSONPath=.status.rendering.commit
// +kubebuilder:printcolumn:name=RenderingErrorCount,type=integer,JSONPath=.status.rendering.errorSummary.totalCount
// +kubebuilder:printcolumn:name=SourceCommit,type=string,JSONPath=.status.source.commit
// +kubebuilder:printcolumn:name=SourceErrorCount,type=integer,JSONPath=.status.source.errorSummary.totalCount
// +kubebuilder:printcolumn:name=SyncCommit,type=string,JSONPath=.status.sync.commit
// +kubebuilder:printcolumn:name=SyncErrorCount,type=integer,JSONPath=.status.sync.errorSummary.totalCount
type RootSync struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name has at most 38 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says what is synced, and how.
	// +optional
	Spec RootSyncSpec `json:"spec,omitzero"`
	// status says how far that has come.
	// +optional
	Status RootSyncStatus `json:"status,omitzero"`
}

// SourceFormat is how a source is laid out.
type SourceFormat string

const (
	// FormatHierarchy has folders for namespaces. Holdfast refuses it.
	FormatHierarchy SourceFormat = "hierarchy"
	// FormatUnstructured is any tree of manifests, or a kustomization.
	FormatUnstructured SourceFormat = "unstructured"
)

// SourceType is what a source is.
type SourceType string

const (
	// SourceGit is a Git repository.
	SourceGit SourceType = "git"
	// SourceOCI is an image in a registry.
	SourceOCI SourceType = "oci"
	// SourceHelm is a Helm chart. Holdfast refuses it.
	SourceHelm SourceType = "helm"
)

// RootSyncSpec says what is synced, and how.
type RootSyncSpec struct {
	// sourceFormat is how the source is laid out; hierarchy if empty, which Holdfast
	// refuses. Case matters.
	// +optional
	// +kubebuilder:validation:Pattern=`^(hierarchy|unstructured|)$`
	SourceFormat SourceFormat `json:"sourceFormat,omitempty"`

	// sourceType is what the source is: git, oci or helm. Holdfast refuses helm.
	// +optional
	// +kubebuilder:default=git
	// +kubebuilder:validation:Pattern=`^(git|oci|helm)$`
	SourceType SourceType `json:"sourceType,omitempty"`

	// git is the repository, where sourceType is git.
	// +optional
	Git *Git `json:"git,omitempty"`

	// oci is the image, where sourceType is oci.
	// +optional
	OCI *OCI `json:"oci,omitempty"`

	// helm is the chart, where sourceType is helm.
	// +optional
	Helm *Helm `json:"helm,omitempty"`

	// override changes how the source is synced.
	// +optional
	// +nullable
	Override *Override `json:"override,omitempty"`

	// monitoring is about the metrics of a reconciler. Holdfast ignores it.
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`
}

// Monitoring is about the metrics of a reconciler.
type Monitoring struct {
	// enabled says whether the metrics are exported.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
}

// RootSyncList is a list of RootSyncs.
//
// +kubebuilder:object:root=true
type RootSyncList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []RootSync `json:"items"`
}
