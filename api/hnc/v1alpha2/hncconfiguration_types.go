// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HNCConfigurationName is the name of the only HNCConfiguration of a cluster.
const HNCConfigurationName = "config"

// HNCConfiguration says which kinds of objects are copied down the trees of
// namespaces. There is one in a cluster, named "config".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=hncconfigurations,scope=Cluster
type HNCConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name must be "config".
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says which kinds.
	// +optional
	Spec HNCConfigurationSpec `json:"spec,omitzero"`
	// status says what is copied.
	// +optional
	Status HNCConfigurationStatus `json:"status,omitzero"`
}

// HNCConfigurationSpec says which kinds are copied.
type HNCConfigurationSpec struct {
	// resources and how they are treated. Those that are not listed are left
	// alone; roles and rolebindings are always copied and may not be listed.
	// +optional
	// +listType=atomic
	Resources []ResourceSpec `json:"resources,omitempty"`

	// excludedNamespaces are names of namespaces that are in no tree, beside those
	// of Holdfast's configuration. HNC does not know this field.
	// +optional
	// +listType=set
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
}

// SynchronizationMode says how a kind is treated.
type SynchronizationMode string

const (
	// ModePropagate copies objects, except for those that say otherwise.
	ModePropagate SynchronizationMode = "Propagate"
	// ModeIgnore leaves objects and copies as they are.
	ModeIgnore SynchronizationMode = "Ignore"
	// ModeRemove takes copies away.
	ModeRemove SynchronizationMode = "Remove"
	// ModeAllowPropagate copies objects that ask for it.
	ModeAllowPropagate SynchronizationMode = "AllowPropagate"
)

// ResourceSpec says how one kind is treated.
type ResourceSpec struct {
	// group of the resource; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// resource, such as "secrets".
	// +required
	Resource string `json:"resource"`
	// mode in which it is treated; Propagate if empty.
	// +optional
	// +kubebuilder:validation:Enum=Propagate;Ignore;Remove;AllowPropagate
	Mode SynchronizationMode `json:"mode,omitempty"`
}

// HNCConfigurationStatus says what is copied.
type HNCConfigurationStatus struct {
	// resources that are looked at.
	// +optional
	// +listType=atomic
	Resources []ResourceStatus `json:"resources,omitempty"`

	// conditions say what is wrong. There may be several of one type, with
	// different reasons.
	// +optional
	// +listType=atomic
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceStatus says how a kind is treated in fact.
type ResourceStatus struct {
	// group of the resource.
	// +required
	Group string `json:"group"`
	// version in which it is read and written.
	// +required
	Version string `json:"version"`
	// resource, such as "secrets".
	// +required
	Resource string `json:"resource"`
	// mode in which it is treated.
	// +optional
	Mode SynchronizationMode `json:"mode,omitempty"`
	// numPropagatedObjects is how many copies there are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumPropagatedObjects *int `json:"numPropagatedObjects,omitempty"`
	// numSourceObjects is how many objects there are that are no copies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumSourceObjects *int `json:"numSourceObjects,omitempty"`
}

// HNCConfigurationList is a list of HNCConfigurations.
//
// +kubebuilder:object:root=true
type HNCConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []HNCConfiguration `json:"items"`
}
