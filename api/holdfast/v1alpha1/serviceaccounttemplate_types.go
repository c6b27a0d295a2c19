// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServiceAccountTemplate says which service accounts belong to each object of a
// kind, and where in the object their labels and annotations stand. The accounts
// are in the namespace of the object.
//
// Holdfast has such templates for the kinds of Strimzi; one of the same name takes
// the place of Holdfast's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=sat
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name stands in messages and metrics, so it has at most 63 characters"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.source.group`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.source.kind`
// +kubebuilder:printcolumn:name="Accounts",type=integer,JSONPath=`.status.accounts`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pending`
// +kubebuilder:printcolumn:name="Conflicts",type=integer,JSONPath=`.status.conflicts`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceAccountTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says which kind, and which accounts.
	// +required
	Spec ServiceAccountTemplateSpec `json:"spec,omitzero"`
	// status is what Holdfast made of it.
	// +optional
	Status ServiceAccountTemplateStatus `json:"status,omitzero"`
}

// ServiceAccountTemplateSpec says which kind, and which accounts.
type ServiceAccountTemplateSpec struct {
	// source is the kind of the objects that accounts belong to. It may be one that
	// the cluster does not have yet.
	// +required
	Source TemplateSource `json:"source,omitzero"`

	// accounts that belong to each object of the kind.
	// +required
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Accounts []AccountTemplate `json:"accounts,omitempty"`
}

// TemplateSource is a kind of objects with a namespace.
type TemplateSource struct {
	// group of the kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group string `json:"group,omitempty"`
	// kind, such as KafkaConnect.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`
	Kind string `json:"kind,omitempty"`
	// version in which the objects are read. Default: the one that the API server
	// prefers.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Version string `json:"version,omitempty"`
}

// AccountTemplate says what one account of an object is to be. Its texts may have
// CEL expressions in ${…}, such as ${self.metadata.name}-connect: self is the
// object without its status and managedFields, and the value must be text.
//
// What an account has of another origin stays; its secrets and imagePullSecrets are
// never written.
type AccountTemplate struct {
	// id of this item in messages.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ID string `json:"id,omitempty"`

	// name of the account, a text with expressions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// template is where in the object the metadata of the account is, with labels and
	// annotations: a path with dots, such as .spec.template.serviceAccount. Without
	// it, or where an object has nothing there, the account has its labels alone.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`
	Template string `json:"template,omitempty"`

	// enabled is a CEL expression over self that says whether the object has this
	// account now. What the object is to be decides that, and not how far it is: self
	// has no status. Default: it always has.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Enabled string `json:"enabled,omitempty"`

	// labels that the account has by itself, texts with expressions. The template goes
	// before them.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]TextTemplate `json:"labels,omitempty"`

	// inheritLabels gives the account the labels of the object itself, except those
	// that say whose the object is, such as Holdfast's own. All others go before them.
	// Default: it inherits none.
	// +optional
	InheritLabels *InheritedLabels `json:"inheritLabels,omitempty"`

	// forbiddenLabels are labels with which an object, or a template in it, gets no
	// account but an error.
	// +optional
	ForbiddenLabels *ForbiddenLabels `json:"forbiddenLabels,omitempty"`

	// ownerReference makes the object the owner of the accounts that are made for it:
	// they go with it, and while it does not have them enabled. So does one that the
	// object owns already, because its operator made it. An account that was there before
	// and that the object does not own never is owned, and never deleted. Without this
	// none is.
	// +optional
	OwnerReference *AccountOwnerReference `json:"ownerReference,omitempty"`

	// conflicts says what becomes of a key that someone else has set to another value.
	// +optional
	Conflicts AccountConflicts `json:"conflicts,omitzero"`

	// takeOver are field managers of those who wrote these accounts before Holdfast and
	// do so no more, as kubectl get --show-managed-fields tells them. What they set
	// becomes Holdfast's. While one of them still runs, Holdfast yields to it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	TakeOver []string `json:"takeOver,omitempty"`
}

// TextTemplate is a text that may have CEL expressions in ${…}.
//
// +kubebuilder:validation:MaxLength=1024
type TextTemplate string

// InheritedLabels says which labels of an object its account has as well.
type InheritedLabels struct {
	// exclude is a regular expression, with look-ahead if need be, for whole keys that
	// are not inherited. Default: none is excluded.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Exclude string `json:"exclude,omitempty"`
}

// ForbiddenLabels are labels with which there is no account but an error.
type ForbiddenLabels struct {
	// pattern is a regular expression, with look-ahead if need be, for whole keys.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Pattern string `json:"pattern,omitempty"`
	// message of the error.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// AccountOwnerReference is how an object owns the accounts made for it.
type AccountOwnerReference struct {
	// blockOwnerDeletion as in owner references. Default: false.
	// +optional
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
	// controller as in owner references. Default: false.
	// +optional
	Controller bool `json:"controller,omitempty"`
}

// ConflictPolicy says what becomes of a key that someone else has set to another
// value.
//
// +kubebuilder:validation:Enum=Force;Yield;Fail
type ConflictPolicy string

const (
	// ConflictForce sets the value all the same.
	ConflictForce ConflictPolicy = "Force"
	// ConflictYield leaves the other value, and reports it.
	ConflictYield ConflictPolicy = "Yield"
	// ConflictFail leaves the whole account as it is, and reports it.
	ConflictFail ConflictPolicy = "Fail"
)

// AccountConflicts says what becomes of keys that someone else has set to another
// value.
type AccountConflicts struct {
	// default is Force, Yield or Fail. Default: Yield.
	// +optional
	// +kubebuilder:default=Yield
	Default ConflictPolicy `json:"default,omitempty"`

	// keys that are treated otherwise; the first that matches counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Keys []KeyConflict `json:"keys,omitempty"`
}

// KeyConflict says how keys are treated.
type KeyConflict struct {
	// pattern of a whole key of a label or annotation, in which * stands for any
	// characters and ? for one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Pattern string `json:"pattern,omitempty"`
	// policy is Force, Yield or Fail.
	// +required
	Policy ConflictPolicy `json:"policy,omitempty"`
}

// ServiceAccountTemplateStatus is what Holdfast made of a ServiceAccountTemplate.
type ServiceAccountTemplateStatus struct {
	// observedGeneration that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// version in which the objects are read.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// objects is how many there are of the kind in scope.
	// +optional
	Objects int32 `json:"objects,omitempty"`

	// accounts is how many belong to them.
	// +optional
	Accounts int32 `json:"accounts,omitempty"`

	// pending is how many of the accounts are not as they are to be: they would be
	// written if Holdfast were to write.
	// +optional
	Pending int32 `json:"pending,omitempty"`

	// conflicts is how many of the accounts have a key that someone else has set to
	// another value, or are someone else's.
	// +optional
	Conflicts int32 `json:"conflicts,omitempty"`

	// errors is how many of the accounts cannot be told from their objects, or cannot be
	// written now.
	// +optional
	Errors int32 `json:"errors,omitempty"`

	// conditions are Ready and SourceServed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServiceAccountTemplateList is a list of ServiceAccountTemplates.
//
// +kubebuilder:object:root=true
type ServiceAccountTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []ServiceAccountTemplate `json:"items"`
}
