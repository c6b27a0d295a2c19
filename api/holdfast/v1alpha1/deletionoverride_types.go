// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionOverride lets one protected object be deleted, for a while: the way
// out when waiting would be worse. It is bound to the object's UID, so an object
// of the same name that is made later is protected again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=dov
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",fieldPath=".metadata",message="the name becomes a label value on the target, so it has at most 63 characters"
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.target.namespace`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Requested By",type=string,JSONPath=`.spec.requestedBy`
// +kubebuilder:printcolumn:name="Approved By",type=string,JSONPath=`.spec.approvedBy`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.spec.reason`
type DeletionOverride struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says what may be deleted, and why. Only approvedBy can be changed.
	// +required
	Spec DeletionOverrideSpec `json:"spec,omitzero"`
	// status is where the override stands.
	// +optional
	Status DeletionOverrideStatus `json:"status,omitzero"`
}

// DeletionOverrideSpec says what may be deleted, why, and for how long.
//
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.reason == oldSelf.reason && self.duration == oldSelf.duration && self.requestedBy == oldSelf.requestedBy && (has(self.includeContents) && self.includeContents) == (has(oldSelf.includeContents) && oldSelf.includeContents)",message="an override cannot be changed, only approved; ask for another one"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.approvedBy) || has(self.approvedBy) && self.approvedBy == oldSelf.approvedBy",fieldPath=".approvedBy",message="a consent cannot be changed or taken back; delete the override instead"
// +kubebuilder:validation:XValidation:rule="!has(self.includeContents) || !self.includeContents || self.target.kind in ['Namespace', 'CustomResourceDefinition']",fieldPath=".includeContents",message="only a Namespace and a CustomResourceDefinition have contents"
type DeletionOverrideSpec struct {
	// target is the object that may be deleted.
	// +required
	Target OverrideTarget `json:"target,omitzero"`

	// reason why it must go, for the record.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`

	// duration for which the override is in force, from the moment that it was
	// asked for, or approved if it needs consent. The configuration sets a
	// maximum, and 24h is the maximum of that.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="a duration is between 1s and 24h"
	Duration string `json:"duration,omitempty"`

	// includeContents lets what hangs below go as well: the protected objects in
	// a Namespace, or the instances of a CustomResourceDefinition. Without it
	// such a target is refused while protected objects hang below it.
	// +optional
	IncludeContents bool `json:"includeContents,omitempty"`

	// requestedBy is the user who asks: the API server refuses any other name
	// than that of whoever creates the override.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	RequestedBy string `json:"requestedBy,omitempty"`

	// approvedBy is the user who consents: the API server refuses any other name
	// than that of whoever sets it, and the requester's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// OverrideTarget is one object.
type OverrideTarget struct {
	// apiVersion of the object, such as v1 or apps/v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// namespace of the object; empty for a cluster-scoped one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// uid of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// OverridePhase is where an override stands.
type OverridePhase string

const (
	// OverrideWaiting says that a second person has not consented yet.
	OverrideWaiting OverridePhase = "Waiting"
	// OverrideActive says that the target may be deleted now.
	OverrideActive OverridePhase = "Active"
	// OverrideUsed says that the target was deleted while the override was in
	// force.
	OverrideUsed OverridePhase = "Used"
	// OverrideExpired says that the override is over, and was not used.
	OverrideExpired OverridePhase = "Expired"
	// OverrideInvalid says that there is no such target.
	OverrideInvalid OverridePhase = "Invalid"
)

// DeletionOverrideStatus is where an override stands. Holdfast alone writes it.
type DeletionOverrideStatus struct {
	// phase is Waiting, Active, Used, Expired or Invalid.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase OverridePhase `json:"phase,omitempty"`

	// message says more, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// activeFrom is when the override came into force.
	// +optional
	ActiveFrom *metav1.Time `json:"activeFrom,omitempty"`

	// expiresAt is when it ends.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// DeletionOverrideList is a list of overrides.
//
// +kubebuilder:object:root=true
type DeletionOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []DeletionOverride `json:"items"`
}
