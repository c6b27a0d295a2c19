// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RootSyncStatus says how far a RootSync has come.
type RootSyncStatus struct {
	// observedGeneration is that of the spec that the rest is about.
	// +optional
	// +kubebuilder:default=0
	ObservedGeneration int64 `json:"observedGeneration"`

	// reconciler is the service account that the RootSync acts as.
	// +optional
	Reconciler string `json:"reconciler,omitempty"`

	// lastSyncedCommit is the last commit, or digest of an image, that was synced without
	// an error.
	// +optional
	LastSyncedCommit string `json:"lastSyncedCommit,omitempty"`

	// source is about fetching and reading the source.
	// +optional
	Source SourceStatus `json:"source,omitzero"`

	// rendering is about what kustomize makes of it.
	// +optional
	Rendering RenderingStatus `json:"rendering,omitzero"`

	// sync is about applying it.
	// +optional
	Sync SyncStatus `json:"sync,omitzero"`

	// conditions say what goes on.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// SourceStatus is about fetching and reading the source.
type SourceStatus struct {
	StageStatus `json:",inline"`
}

// RenderingStatus is about what kustomize makes of the source.
type RenderingStatus struct {
	StageStatus `json:",inline"`
	// message says whether there was something to render.
	// +optional
	Message string `json:"message,omitempty"`
}

// SyncStatus is about applying the source.
type SyncStatus struct {
	StageStatus `json:",inline"`
}

// StageStatus is what the stages of a sync have in common.
type StageStatus struct {
	// gitStatus is the repository.
	// +optional
	Git *GitStatus `json:"gitStatus,omitempty"`
	// ociStatus is the image.
	// +optional
	OCI *OCIStatus `json:"ociStatus,omitempty"`
	// helmStatus is the chart.
	// +optional
	Helm *HelmStatus `json:"helmStatus,omitempty"`
	// commit is the hash of the commit, or the digest of the image.
	// +optional
	Commit string `json:"commit,omitempty"`
	// lastUpdate is when this part of the status last changed.
	// +optional
	// +nullable
	LastUpdate metav1.Time `json:"lastUpdate,omitzero"`
	// errors of the stage, as many as there is room for.
	// +optional
	// +listType=atomic
	Errors []Error `json:"errors,omitempty"`
	// errorSummary counts the errors.
	// +optional
	ErrorSummary *ErrorSummary `json:"errorSummary,omitempty"`
}

// GitStatus names what is synced from a repository.
type GitStatus struct {
	// repo is the address.
	// +required
	Repo string `json:"repo"`
	// revision is that of the spec, HEAD if there is none.
	// +required
	Revision string `json:"revision"`
	// branch is that of the spec, master if there is none.
	// +required
	Branch string `json:"branch"`
	// dir is the folder.
	// +required
	Dir string `json:"dir"`
}

// OCIStatus names what is synced from an image.
type OCIStatus struct {
	// image is that of the spec.
	// +required
	Image string `json:"image"`
	// dir is the folder.
	// +required
	Dir string `json:"dir"`
}

// HelmStatus names a chart that is synced.
type HelmStatus struct {
	// repo is the address.
	// +required
	Repo string `json:"repo"`
	// version of the chart.
	// +required
	Version string `json:"version"`
	// chart is its name.
	// +required
	Chart string `json:"chart"`
}

// Error is one error.
type Error struct {
	// code is its number, such as "1061".
	// +required
	Code string `json:"code"`
	// errorMessage says what is wrong, with the number and what it is about.
	// +required
	ErrorMessage string `json:"errorMessage"`
	// errorResources are the objects that it is about.
	// +optional
	// +listType=atomic
	Resources []ErrorResource `json:"errorResources,omitempty"`
}

// ErrorResource is an object that an error is about.
type ErrorResource struct {
	// sourcePath is that of its file in the source.
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
	// name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// gvk is its kind.
	// +optional
	GVK metav1.GroupVersionKind `json:"gvk,omitzero"`
}

// ErrorSummary counts errors.
type ErrorSummary struct {
	// totalCount is how many there are.
	// +optional
	TotalCount int `json:"totalCount,omitempty"`
	// truncated says whether the status has not all of them.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
	// errorCountAfterTruncation is how many the status has.
	// +optional
	ErrorCountAfterTruncation int `json:"errorCountAfterTruncation,omitempty"`
}

// Condition is one of the things that go on.
type Condition struct {
	// type of the condition.
	// +required
	Type ConditionType `json:"type"`
	// status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// lastUpdateTime is when any of it changed.
	// +optional
	// +nullable
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`
	// lastTransitionTime is when the status changed.
	// +optional
	// +nullable
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// reason in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// commit that it is about, or the digest of an image.
	// +optional
	Commit string `json:"commit,omitempty"`
	// errors that are nowhere else in the status.
	// +optional
	// +listType=atomic
	Errors []Error `json:"errors,omitempty"`
	// errorSourceRefs are the parts of the status that have the errors.
	// +optional
	// +listType=atomic
	ErrorSourceRefs []ErrorSource `json:"errorSourceRefs,omitempty"`
	// errorSummary counts the errors.
	// +optional
	ErrorSummary *ErrorSummary `json:"errorSummary,omitempty"`
}
