// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HoldfastName is the name of the only Holdfast object of a cluster.
const HoldfastName = "holdfast"

// Holdfast says in what state Holdfast is on this cluster. There is one, named
// "holdfast", written by Holdfast alone; what Holdfast should do is said in its
// configuration file, not here.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'holdfast'",message="there is one Holdfast object, and its name is holdfast"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Holdfast struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// status is what Holdfast last observed of itself.
	// +optional
	Status HoldfastStatus `json:"status,omitzero"`
}

// HoldfastStatus is what Holdfast last observed of itself.
type HoldfastStatus struct {
	// version of the manager that wrote this status.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// features lists what is in force, one entry per feature.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Features []FeatureStatus `json:"features,omitempty"`

	// configuration is the HoldfastConfiguration in force, as YAML, with the
	// defaults filled in and with what the environment says in place of the file.
	// Empty if it is too long.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Configuration string `json:"configuration,omitempty"`

	// conditions are Ready, AdmissionInstalled, CertificateValid,
	// ConfigurationAccepted and those of features; Ready is true when all others are.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FeatureStatus says in which mode a feature is in force.
type FeatureStatus struct {
	// name of the feature.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// mode of its verdicts: Off, Audit, Warn or Enforce; of service accounts Off, Report
	// or Enforce.
	// +required
	// +kubebuilder:validation:Enum=Off;Audit;Warn;Report;Enforce
	Mode string `json:"mode"`
}

// HoldfastList is a list of Holdfast objects.
//
// +kubebuilder:object:root=true
type HoldfastList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []Holdfast `json:"items"`
}
