// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvictionPolicy says what becomes of the eviction of the pods that it matches,
// so that an operator moves them instead. Of several policies that match a pod,
// the one with the highest priority decides; of equals, the first by name. What
// the Strimzi Drain Cleaner would decide comes after all of them.
//
// Pods that are terminating or finished, mirror pods and the pods of DaemonSets
// are in no policy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=evp
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name becomes a label value on pods that wait, so it has at most 63 characters"
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.waiting`
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name="Denied",type=integer,JSONPath=`.status.denied`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EvictionPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says which pods, and what becomes of their eviction.
	// +required
	Spec EvictionPolicySpec `json:"spec,omitzero"`
	// status is what Holdfast made of it.
	// +optional
	Status EvictionPolicyStatus `json:"status,omitzero"`
}

// EvictionPolicySpec says which pods, and what becomes of their eviction.
type EvictionPolicySpec struct {
	// match says which pods.
	// +required
	Match EvictionMatch `json:"match,omitzero"`

	// priority settles which of several policies decides: the highest. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority int32 `json:"priority,omitempty"`

	// action is what Holdfast does when an eviction is asked for: nothing, or
	// something that tells the operator.
	// +optional
	Action EvictionAction `json:"action,omitzero"`

	// verdict is what whoever asks for the eviction gets.
	// +required
	Verdict EvictionVerdict `json:"verdict,omitzero"`

	// deadline bounds how long a pod can be held.
	// +optional
	Deadline *EvictionDeadline `json:"deadline,omitempty"`

	// onError says what becomes of an eviction when the policy matches and
	// something else fails, such as the action: Allow, or Refuse with code 429. With
	// Refuse an until that fails counts as false, so that the operator is asked and
	// the deadline counts. Default: Refuse.
	// +optional
	// +kubebuilder:default=Refuse
	OnError OnErrorVerdict `json:"onError,omitempty"`

	// mode is Off, Audit, Warn or Enforce. Below Enforce the policy decides nothing
	// and does nothing: it tells what it would have said, in the audit log or as a
	// warning too, and the next policy or rule that matches decides. Default: Enforce.
	// +optional
	// +kubebuilder:default=Enforce
	// +kubebuilder:validation:Enum=Off;Audit;Warn;Enforce
	Mode string `json:"mode,omitempty"`
}

// OnErrorVerdict says what becomes of an eviction when something fails on the
// way.
//
// +kubebuilder:validation:Enum=Allow;Refuse
type OnErrorVerdict string

const (
	// OnErrorAllow lets it pass; disruption budgets still count.
	OnErrorAllow OnErrorVerdict = "Allow"
	// OnErrorRefuse refuses it with code 429, so that drainers try again.
	OnErrorRefuse OnErrorVerdict = "Refuse"
)

// EvictionMatch says which pods. Its parts are ANDed; at least one part other
// than the namespaces is needed.
//
// +kubebuilder:validation:XValidation:rule="has(self.podSelector) || has(self.labelPatterns) || has(self.annotationPatterns) || has(self.ownerKinds) || has(self.condition)",message="a policy needs a podSelector, labelPatterns, annotationPatterns, ownerKinds or a condition; write condition: 'true' to match every pod"
type EvictionMatch struct {
	// namespaces are patterns as in the scope of the configuration: an exact name,
	// a glob with * and ?, a regular expression behind "re:", and each of these
	// behind "!" to exclude. Empty: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Namespaces []string `json:"namespaces,omitempty"`

	// namespaceSelector must match the labels of the namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// podSelector must match the labels of the pod.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`

	// labelPatterns are regular expressions by the key of a label that the pod
	// must have; each must match the whole value.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	LabelPatterns map[string]Pattern `json:"labelPatterns,omitempty"`

	// annotationPatterns are the same for annotations; ".*" asks for no more than
	// that the annotation is there.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	AnnotationPatterns map[string]Pattern `json:"annotationPatterns,omitempty"`

	// ownerKinds are kinds of which one must be that of the pod's controller.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	OwnerKinds []OwnerKind `json:"ownerKinds,omitempty"`

	// node is Any, or Draining: then the policy acts on pods of nodes that are
	// being drained, which is to say cordoned, tainted to be drained by the cluster
	// autoscaler or by Karpenter, or with condition DrainInProgress. What becomes
	// of the others says elsewhere. Default: Any.
	// +optional
	// +kubebuilder:default=Any
	Node NodeState `json:"node,omitempty"`

	// elsewhere is for node Draining, about the pods of other nodes. NotFound
	// answers that the pod is not there, with code 404: a drainer that asks by name
	// for a pod that was moved meanwhile, and came back under its name on another
	// node, takes that as done. Who names the UID of the pod means this very one, and
	// gets 429. Allow lets the eviction pass. Default: NotFound.
	// +optional
	// +kubebuilder:default=NotFound
	Elsewhere ElsewhereVerdict `json:"elsewhere,omitempty"`

	// condition is a CEL expression with the variables pod, as the API server has
	// it, and request, with the fields username, groups and dryRun. It must be true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Condition string `json:"condition,omitempty"`
}

// Pattern is a regular expression in the syntax of RE2.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="'x'.matches(self) || !'x'.matches(self)",message="must be a regular expression in the syntax of RE2"
type Pattern string

// NodeState says on which nodes pods are matched.
//
// +kubebuilder:validation:Enum=Any;Draining
type NodeState string

const (
	// NodeAny is every node.
	NodeAny NodeState = "Any"
	// NodeDraining is a node that is being drained.
	NodeDraining NodeState = "Draining"
)

// ElsewhereVerdict is about pods whose node is not being drained.
//
// +kubebuilder:validation:Enum=NotFound;Allow
type ElsewhereVerdict string

const (
	// ElsewhereNotFound answers 404.
	ElsewhereNotFound ElsewhereVerdict = "NotFound"
	// ElsewhereAllow lets the eviction pass.
	ElsewhereAllow ElsewhereVerdict = "Allow"
)

// OwnerKind is the kind of a controller.
type OwnerKind struct {
	// group of the kind; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind, such as StrimziPodSet.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
}

// EvictionAction is what tells the operator. What is set already is not written
// again; a dry run writes nothing.
type EvictionAction struct {
	// annotations to set on the pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	Annotations map[string]string `json:"annotations,omitempty"`

	// labels to set on the pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].size() <= 63)",message="the value of a label has at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// event to send about the pod when it is first held.
	// +optional
	Event *EvictionEvent `json:"event,omitempty"`
}

// EvictionEvent is an Event about a pod.
type EvictionEvent struct {
	// reason in CamelCase.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// VerdictType says what becomes of an eviction.
//
// +kubebuilder:validation:Enum=Allow;Deny;DenyUntil
type VerdictType string

const (
	// VerdictTypeAllow lets it pass, after the action.
	VerdictTypeAllow VerdictType = "Allow"
	// VerdictTypeDeny refuses it. The pod goes when its operator deletes it.
	VerdictTypeDeny VerdictType = "Deny"
	// VerdictTypeDenyUntil refuses it until a condition holds.
	VerdictTypeDenyUntil VerdictType = "DenyUntil"
)

// EvictionVerdict is what whoever asks for an eviction gets.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'DenyUntil') == has(self.until)",fieldPath=".until",message="until goes with type DenyUntil, and with no other"
// +kubebuilder:validation:XValidation:rule="self.type == 'Allow' || has(self.message)",fieldPath=".message",message="say to whoever drains why the pod stays and what moves it"
type EvictionVerdict struct {
	// type is Allow, Deny or DenyUntil.
	// +required
	Type VerdictType `json:"type,omitempty"`

	// until is a CEL expression with the same variables as a match's condition.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Until string `json:"until,omitempty"`

	// code of a refusal. With 429 drainers try again until the pod has gone; with
	// most others kubectl drain gives up at once, with 404 it takes the pod as gone.
	// There is no 409, because Karpenter takes that as gone while the pod runs.
	// Default: 429.
	// +optional
	// +kubebuilder:default=429
	// +kubebuilder:validation:Enum=400;403;404;429;500;503
	Code int32 `json:"code,omitempty"`

	// reason of a refusal, for machines. Default: what Kubernetes has for the code,
	// such as TooManyRequests.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason,omitempty"`

	// message of a refusal, for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// EvictionDeadline bounds how long a pod can be held. It counts from the first
// eviction of that pod, and anew if nobody asked for as long as the deadline and
// for ten minutes at least.
type EvictionDeadline struct {
	// after is a duration such as 30m: at least 10s and at most 168h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('168h')",message="must be at least 10s and at most 168h"
	After metav1.Duration `json:"after,omitzero"`

	// then is Allow, which lets the eviction pass with a warning, or Deny, which
	// goes on to refuse. Both send an Event about the pod. Default: Allow.
	// +optional
	// +kubebuilder:default=Allow
	Then OverdueVerdict `json:"then,omitempty"`
}

// OverdueVerdict says what becomes of an eviction after the deadline.
//
// +kubebuilder:validation:Enum=Allow;Deny
type OverdueVerdict string

const (
	// OverdueAllow lets the eviction pass.
	OverdueAllow OverdueVerdict = "Allow"
	// OverdueDeny goes on to refuse it.
	OverdueDeny OverdueVerdict = "Deny"
)

// EvictionPolicyStatus is what Holdfast made of an EvictionPolicy.
type EvictionPolicyStatus struct {
	// observedGeneration that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// matched is how many evictions the policy decided, dry runs left out.
	// +optional
	Matched int64 `json:"matched,omitempty"`

	// denied is how many of them were refused.
	// +optional
	Denied int64 `json:"denied,omitempty"`

	// waiting is how many pods are held now.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`

	// lastError is what last went wrong when the policy was applied.
	// +optional
	LastError *EvictionError `json:"lastError,omitempty"`

	// conditions are Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EvictionError is something that went wrong when a policy was applied.
type EvictionError struct {
	// time when it did.
	// +required
	Time metav1.Time `json:"time,omitzero"`
	// message says what.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// EvictionPolicyList is a list of EvictionPolicies.
//
// +kubebuilder:object:root=true
type EvictionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []EvictionPolicy `json:"items"`
}
