// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HierarchyConfigurationName is the name of the only HierarchyConfiguration of a
// namespace.
const HierarchyConfigurationName = "hierarchy"

// HierarchyConfiguration says where a namespace stands in a tree of namespaces.
// There is one in a namespace, named "hierarchy"; a namespace that has neither
// parent nor children needs none.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=hierarchyconfigurations,scope=Namespaced
type HierarchyConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name must be "hierarchy".
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what the tree should be.
	// +optional
	Spec HierarchyConfigurationSpec `json:"spec,omitzero"`
	// status is what the tree is.
	// +optional
	Status HierarchyConfigurationStatus `json:"status,omitzero"`
}

// HierarchyConfigurationSpec is what the tree should be.
type HierarchyConfigurationSpec struct {
	// parent of the namespace; empty for a root. The parent of a subnamespace is
	// not changed here: its annotation decides.
	// +optional
	Parent string `json:"parent,omitempty"`

	// allowCascadingDeletion lets subnamespaces in this namespace, and in all below
	// it, be deleted together with what is below them.
	// +optional
	AllowCascadingDeletion bool `json:"allowCascadingDeletion,omitempty"`

	// labels that this namespace and all below it get. The configuration says
	// which keys are allowed. Those of an ancestor win.
	// +optional
	// +listType=atomic
	Labels []MetaKVP `json:"labels,omitempty"`

	// annotations that this namespace and all below it get, as with labels.
	// +optional
	// +listType=atomic
	Annotations []MetaKVP `json:"annotations,omitempty"`
}

// MetaKVP is a label or an annotation.
type MetaKVP struct {
	// key of the label or annotation.
	// +required
	Key string `json:"key"`
	// value of the label or annotation.
	// +required
	Value string `json:"value"`
}

// HierarchyConfigurationStatus is what the tree is.
type HierarchyConfigurationStatus struct {
	// children are the namespaces right below this one, in the order of their
	// names.
	// +optional
	// +listType=atomic
	Children []string `json:"children,omitempty"`

	// conditions say what is wrong; a namespace in order has none. There may be
	// several of one type, with different reasons.
	// +optional
	// +listType=atomic
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HierarchyConfigurationList is a list of HierarchyConfigurations.
//
// +kubebuilder:object:root=true
type HierarchyConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []HierarchyConfiguration `json:"items"`
}
