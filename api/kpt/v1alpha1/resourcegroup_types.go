// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata of a ResourceGroup.
const (
	// LabelInventoryID is the namespace and the name of the RootSync, with an underscore
	// between them.
	LabelInventoryID = "cli-utils.sigs.k8s.io/inventory-id"
	// AnnotationStatus is "enabled" or "disabled": whether the ResourceGroup has the
	// status of each object.
	AnnotationStatus = "configsync.gke.io/status"
)

// ResourceGroup lists the objects that a RootSync manages, so that it can find those
// that are no longer declared.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=resourcegroups,scope=Namespaced
// +kubebuilder:printcolumn:name=Reconciling,type=string,JSONPath=.status.conditions[0].status
// +kubebuilder:printcolumn:name=Stalled,type=string,JSONPath=.status.conditions[1].status
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type ResourceGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec lists the objects.
	// +optional
	Spec ResourceGroupSpec `json:"spec,omitzero"`
	// status says how they are.
	// +optional
	Status *ResourceGroupStatus `json:"status,omitempty"`
}

// ResourceGroupSpec lists the objects.
type ResourceGroupSpec struct {
	// resources are the objects.
	// +optional
	// +listType=atomic
	Resources []ObjMetadata `json:"resources,omitempty"`
	// subgroups are other ResourceGroups that belong to this one. Holdfast writes none.
	// +optional
	// +listType=atomic
	Subgroups []GroupMetadata `json:"subgroups,omitempty"`
	// descriptor describes the whole. Holdfast writes none.
	// +optional
	Descriptor Descriptor `json:"descriptor,omitzero"`
}

// ObjMetadata names an object.
type ObjMetadata struct {
	// namespace of the object; empty if it is in none.
	// +required
	Namespace string `json:"namespace"`
	// name of the object.
	// +required
	Name string `json:"name"`
	// group of its kind; empty for the core group.
	// +required
	Group string `json:"group"`
	// kind of the object.
	// +required
	Kind string `json:"kind"`
}

// GroupMetadata names a ResourceGroup.
type GroupMetadata struct {
	// namespace of the ResourceGroup.
	// +required
	Namespace string `json:"namespace"`
	// name of the ResourceGroup.
	// +required
	Name string `json:"name"`
}

// Descriptor describes a ResourceGroup for people.
type Descriptor struct {
	// type such as Application/WordPress.
	// +optional
	Type string `json:"type,omitempty"`
	// revision of the whole.
	// +optional
	Revision string `json:"revision,omitempty"`
	// description in a few words.
	// +optional
	Description string `json:"description,omitempty"`
	// links to more about it.
	// +optional
	// +listType=atomic
	Links []Link `json:"links,omitempty"`
}

// Link is an address.
type Link struct {
	// description of what is there.
	// +required
	Description string `json:"description"`
	// url is the address.
	// +required
	URL string `json:"url"`
}

// ResourceGroupStatus says how the objects are.
type ResourceGroupStatus struct {
	// observedGeneration is that of the spec that the rest is about.
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
	// resourceStatuses are those of the objects.
	// +optional
	// +listType=atomic
	ResourceStatuses []ResourceStatus `json:"resourceStatuses,omitempty"`
	// subgroupStatuses are those of the subgroups.
	// +optional
	// +listType=atomic
	SubgroupStatuses []GroupStatus `json:"subgroupStatuses,omitempty"`
	// conditions are Reconciling and Stalled, in this order.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// Status is how an object is, by the rules of kstatus.
type Status string

const (
	// InProgress says that the object is not yet as its spec says.
	InProgress Status = "InProgress"
	// Failed says that it will not be.
	Failed Status = "Failed"
	// Current says that it is.
	Current Status = "Current"
	// Terminating says that it goes.
	Terminating Status = "Terminating"
	// NotFound says that it does not exist.
	NotFound Status = "NotFound"
	// Unknown says that nobody has looked.
	Unknown Status = "Unknown"
)

// Strategy is what is done with an object.
type Strategy string

const (
	// Apply writes it.
	Apply Strategy = "Apply"
	// Delete takes it away.
	Delete Strategy = "Delete"
)

// Actuation is whether that has been done.
type Actuation string

const (
	// ActuationPending says that it has not, yet.
	ActuationPending Actuation = "Pending"
	// ActuationSucceeded says that it has.
	ActuationSucceeded Actuation = "Succeeded"
	// ActuationSkipped says that it is not, because of another object.
	ActuationSkipped Actuation = "Skipped"
	// ActuationFailed says that it cannot be.
	ActuationFailed Actuation = "Failed"
)

// Reconcile is whether the object has become what it should be.
type Reconcile string

const (
	// ReconcilePending says that it has not, yet.
	ReconcilePending Reconcile = "Pending"
	// ReconcileSucceeded says that it has.
	ReconcileSucceeded Reconcile = "Succeeded"
	// ReconcileSkipped says that nobody waits for it.
	ReconcileSkipped Reconcile = "Skipped"
	// ReconcileTimeout says that it took too long.
	ReconcileTimeout Reconcile = "Timeout"
	// ReconcileFailed says that it will not.
	ReconcileFailed Reconcile = "Failed"
)

// ResourceStatus is that of one object.
type ResourceStatus struct {
	ObjMetadata `json:",inline"`
	// status by the rules of kstatus.
	// +required
	Status Status `json:"status"`
	// sourceHash is the beginning of the commit that it was last applied from.
	// +optional
	SourceHash string `json:"sourceHash,omitempty"`
	// conditions that say more.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
	// strategy is Apply or Delete.
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
	// actuation is whether that has been done.
	// +optional
	Actuation Actuation `json:"actuation,omitempty"`
	// reconcile is whether the object has become what it should be.
	// +optional
	Reconcile Reconcile `json:"reconcile,omitempty"`
}

// GroupStatus is that of one subgroup.
type GroupStatus struct {
	GroupMetadata `json:",inline"`
	// status by the rules of kstatus.
	// +required
	Status Status `json:"status"`
	// conditions that say more.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// Types of conditions.
const (
	// ConditionReconciling is true while objects are not what they should be.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true while something keeps the status from being kept.
	ConditionStalled = "Stalled"
	// ConditionOwnershipOverlap says that another ResourceGroup has the object.
	ConditionOwnershipOverlap = "OwnershipOverlap"
)

// Condition is one of the things that go on.
type Condition struct {
	// type of the condition.
	// +required
	Type string `json:"type"`
	// status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// reason in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// lastTransitionTime is when the status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
}

// ResourceGroupList is a list of ResourceGroups.
//
// +kubebuilder:object:root=true
type ResourceGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []ResourceGroup `json:"items"`
}
