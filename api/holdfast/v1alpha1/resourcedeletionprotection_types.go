// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResourceDeletionProtection protects the objects that it selects from
// deletion, without a label that people set on them. It is the CRD that seed 001
// describes as the alternative to the label.
//
// Who holds the verb "bypass" on a ResourceDeletionProtection by name may delete
// what it protects. Roles that allow every verb do not count: whoever may do
// everything has not said that they mean this.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rdp
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",fieldPath=".metadata",message="the name becomes a label value on what is protected, so it has at most 63 characters"
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Matches",type=integer,JSONPath=`.status.matches.total`
// +kubebuilder:printcolumn:name="Denials",type=integer,JSONPath=`.status.denials.count`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ResourceDeletionProtection struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says what is protected.
	// +required
	Spec ResourceDeletionProtectionSpec `json:"spec,omitzero"`
	// status is what Holdfast made of it.
	// +optional
	Status ResourceDeletionProtectionStatus `json:"status,omitzero"`
}

// ProtectionMode says when an object may not be deleted.
//
// +kubebuilder:validation:Enum=Always;Cascading
type ProtectionMode string

const (
	// ModeAlways refuses every deletion.
	ModeAlways ProtectionMode = ProtectAlways
	// ModeCascading refuses a deletion while the object is in use: a workload that
	// wants replicas, a Namespace with active pods or bound volume claims, a
	// CustomResourceDefinition with instances, a Service with ready endpoints or a
	// load balancer, an Ingress with an address.
	ModeCascading ProtectionMode = ProtectCascading
)

// ResourceDeletionProtectionSpec says what is protected, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Cascading' || self.protectedResources.all(p, p.resourceSelector.all(s, (s.apiVersion + '/' + s.kind).matches('^(v1/(Namespace|Service)|apiextensions[.]k8s[.]io/[^/]+/CustomResourceDefinition|networking[.]k8s[.]io/[^/]+/Ingress|apps/[^/]+/(Deployment|StatefulSet|ReplicaSet)|apps[.]kruise[.]io/[^/]+/(CloneSet|StatefulSet|UnitedDeployment))$')))",fieldPath=".mode",message="Cascading has a meaning for Namespace, CustomResourceDefinition, Service, Ingress, Deployment, StatefulSet, ReplicaSet, and OpenKruise's CloneSet, StatefulSet and UnitedDeployment; protect other kinds with mode Always, in a protection of their own"
type ResourceDeletionProtectionSpec struct {
	// protectedResources are the objects: those that at least one item selects.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ProtectedResources []ProtectedResource `json:"protectedResources,omitempty"`

	// mode is Always or Cascading, which is for the kinds that have a meaning of
	// being in use. Default: Always.
	// +optional
	// +kubebuilder:default=Always
	Mode ProtectionMode `json:"mode,omitempty"`

	// reason why these objects are protected, for whoever lists the protections.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message is shown to whoever is refused: whom to ask, what to do instead.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// ProtectedResource selects objects: those that a selector matches and that, if
// there are resourceNames, have one of those names.
//
// +kubebuilder:validation:XValidation:rule="has(self.resourceNames) && self.resourceNames.size() > 0 || self.resourceSelector.all(s, has(s.namespace) || has(s.namespaceSelector) || has(s.name) || has(s.labelSelector))",fieldPath=".resourceSelector",message="a selector needs a namespace, a name, a namespaceSelector or a labelSelector; write name: '*' to protect every object of the kind"
// +kubebuilder:validation:XValidation:rule="has(self.resourceNames) && self.resourceNames.size() > 0 || self.resourceSelector.all(s, has(s.labelSelector) || has(s.name) && s.name != '*' || !(s.kind in ['Event', 'Lease', 'EndpointSlice', 'Endpoints', 'ControllerRevision', 'Pod', 'ReplicaSet', 'Job', 'CSINode', 'CSIStorageCapacity', 'VolumeAttachment', 'IPAddress']))",fieldPath=".resourceSelector",message="the cluster's own controllers delete Pods, ReplicaSets, Jobs, ControllerRevisions, Events, Leases, Endpoints, EndpointSlices and the like all the time; select them by name or by labelSelector"
type ProtectedResource struct {
	// resourceSelector says of which kinds and where the objects are. An object
	// that one of them matches is selected.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ResourceSelector []ResourceSelector `json:"resourceSelector,omitempty"`

	// resourceNames are names of objects. They mean for several what name in a
	// selector means for one, and add to it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// ResourceSelector selects objects of one kind. Its parts are ANDed; a part that
// is left out does not restrict.
type ResourceSelector struct {
	// apiVersion of the kind, such as v1 or apps/v1. Only the group counts: an
	// object is protected in each of its versions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z][-a-z0-9]*$`
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the objects, such as Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Kind string `json:"kind,omitempty"`

	// namespace of the objects.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// namespaceSelector selects the namespaces of the objects by their labels.
	// Whoever may label a namespace can move it in or out.
	// +optional
	NamespaceSelector *ObjectSelector `json:"namespaceSelector,omitempty"`

	// name of the object, or * for every one of the kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '*' || !self.contains('*') && !self.contains('?')",message="a name is exact, or * for every object of the kind"
	Name string `json:"name,omitempty"`

	// labelSelector selects the objects by their labels. Once an object is marked,
	// changing one of these labels needs the verb unprotect. Excepted are labels
	// that Holdfast writes itself, such as those of trees of namespaces.
	// +optional
	LabelSelector *ObjectSelector `json:"labelSelector,omitempty"`
}

// ObjectSelector is a label selector that selects something: written as the
// standard one, it may not be empty.
//
// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && self.matchLabels.size() > 0 || has(self.matchExpressions) && self.matchExpressions.size() > 0",message="an empty selector selects everything; leave it out, or say what it selects"
type ObjectSelector struct {
	// matchLabels are labels that the object has, with these values.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && k.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="a key or a value is not a label's"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on labels of the object.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is a requirement on one label.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0",message="In and NotIn need values, Exists and DoesNotExist may not have any"
type LabelRequirement struct {
	// key of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key,omitempty"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator,omitempty"`

	// values for In and NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is a value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`
type LabelValue string

// ResourceDeletionProtectionStatus is what Holdfast made of a protection.
type ResourceDeletionProtectionStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// matches is what the protection selects now. An object that more protections
	// select counts in each.
	// +optional
	Matches Matches `json:"matches"`

	// unenforceable are the kinds that the protection names and that are not
	// protected, with the reason.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Unenforceable []Unenforceable `json:"unenforceable,omitempty"`

	// denials are the deletions that the protection has refused, as far as the API
	// server's audit events tell. It is absent while no event has come: Holdfast
	// does not see what the API server refuses.
	// +optional
	Denials *Denials `json:"denials,omitempty"`

	// conditions is Ready: true when all that is selected is protected.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Denials counts deletions that were refused.
type Denials struct {
	// count of the requests, dry runs among them. A request that more protections
	// refuse counts in each, and a delete of a whole collection counts once.
	// +optional
	Count int64 `json:"count"`

	// last is when the last of them was refused.
	// +optional
	Last *metav1.Time `json:"last,omitempty"`
}

// Matches counts objects.
type Matches struct {
	// total of the objects.
	// +optional
	Total int64 `json:"total"`

	// kinds has the objects of each kind, the first 32 in the order of their
	// names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Kinds []KindMatches `json:"kinds,omitempty"`
}

// KindMatches counts the objects of a kind.
type KindMatches struct {
	// group of the kind; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// count of the objects.
	// +optional
	Count int64 `json:"count"`
}

// UnenforceableReason says why the objects of a kind are not protected.
type UnenforceableReason string

const (
	// NoSuchKind says that the API server does not serve the kind now.
	NoSuchKind UnenforceableReason = "NoSuchKind"
	// AdmissionNotRun says that the kind is served by an extension API server
	// that does not ask the cluster's admission policies.
	AdmissionNotRun UnenforceableReason = "AdmissionNotRun"
	// NotDeletable says that no object of the kind can be deleted, listed and
	// watched through the API.
	NotDeletable UnenforceableReason = "NotDeletable"
	// BeyondAdmission says that the API server asks no policy and no webhook
	// about objects of the kind.
	BeyondAdmission UnenforceableReason = "BeyondAdmission"
	// NotMarked says that the API server refuses Holdfast to look at the
	// objects or to mark them.
	NotMarked UnenforceableReason = "NotMarked"
)

// Unenforceable is a kind whose objects are not protected.
type Unenforceable struct {
	// group of the kind; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// reason is NoSuchKind, AdmissionNotRun, NotDeletable, BeyondAdmission
	// or NotMarked.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason UnenforceableReason `json:"reason,omitempty"`
	// message says more, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ResourceDeletionProtectionList is a list of protections.
//
// +kubebuilder:object:root=true
type ResourceDeletionProtectionList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []ResourceDeletionProtection `json:"items"`
}
