// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SubnamespaceAnchor asks for a namespace of its own name below the one that it
// is in. Who may create anchors needs no rights to create namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=subnamespaceanchors,scope=Namespaced,shortName=subns
type SubnamespaceAnchor struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name is that of the
	// subnamespace.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says more about the subnamespace.
	// +optional
	Spec SubnamespaceAnchorSpec `json:"spec,omitzero"`
	// status says what became of the subnamespace.
	// +optional
	Status SubnamespaceAnchorStatus `json:"status,omitzero"`
}

// SubnamespaceAnchorSpec says more about the subnamespace.
type SubnamespaceAnchorSpec struct {
	// labels that the subnamespace and all below it get. They replace those in its
	// HierarchyConfiguration.
	// +optional
	// +listType=atomic
	Labels []MetaKVP `json:"labels,omitempty"`

	// annotations that the subnamespace and all below it get, as with labels.
	// +optional
	// +listType=atomic
	Annotations []MetaKVP `json:"annotations,omitempty"`
}

// AnchorState is what became of a subnamespace.
type AnchorState string

const (
	// AnchorMissing says that the subnamespace does not exist, yet.
	AnchorMissing AnchorState = "Missing"
	// AnchorOk says that the subnamespace exists.
	AnchorOk AnchorState = "Ok"
	// AnchorConflict says that a namespace of the name exists, and is not a
	// subnamespace of this one.
	AnchorConflict AnchorState = "Conflict"
	// AnchorForbidden says that the anchor is in a namespace, or has the name of
	// one, that is not managed.
	AnchorForbidden AnchorState = "Forbidden"
)

// SubnamespaceAnchorStatus says what became of the subnamespace.
type SubnamespaceAnchorStatus struct {
	// status is Missing, Ok, Conflict or Forbidden.
	// +optional
	State AnchorState `json:"status,omitempty"`
}

// SubnamespaceAnchorList is a list of anchors.
//
// +kubebuilder:object:root=true
type SubnamespaceAnchorList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []SubnamespaceAnchor `json:"items"`
}
