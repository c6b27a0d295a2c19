// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvictionConfiguration is the guard for evictions.
type EvictionConfiguration struct {
	// mode of its verdicts. Below Enforce nothing is written to pods. Default:
	// Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// scope narrows the global scope for this feature. The environment variable
	// STRIMZI_DRAIN_NAMESPACES goes before it.
	// +optional
	Scope Scope `json:"scope,omitzero"`

	// filter says where names and patterns of the scope are held against an
	// eviction: Selector, in the API server, so that an eviction out of scope never
	// leaves it; or Handler, in Holdfast, which logs and counts each one that it
	// lets go. A namespaceSelector is always the API server's. Default: Handler, as
	// the Strimzi Drain Cleaner.
	// +optional
	Filter FilterPlace `json:"filter,omitempty"`

	// drainCleaner does what the Strimzi Drain Cleaner does.
	// +optional
	DrainCleaner DrainCleanerConfiguration `json:"drainCleaner,omitzero"`

	// pods says how Holdfast knows the pods: Read asks the API server for the pod of
	// each eviction in scope; Cached watches the metadata of all pods in scope, so
	// that most evictions need no question. Default: Read.
	// +optional
	Pods PodKnowledge `json:"pods,omitempty"`

	// onOutage says what becomes of an eviction in scope that cannot be judged,
	// because no replica of Holdfast answers or the API server does not give the
	// pod: Allow, as the Strimzi Drain Cleaner, or Refuse. Disruption budgets hold
	// in any case. Default: Allow.
	// +optional
	OnOutage OutageRule `json:"onOutage,omitempty"`

	// protectedPods says what becomes of the eviction of a pod that the deletion
	// guard protects: Allow, or Refuse with code 429. A drain without a timeout then
	// waits for ever, and upgrades of nodes stall. Default: Allow.
	// +optional
	ProtectedPods ProtectedPodRule `json:"protectedPods,omitempty"`

	// requestTimeout bounds each question to the API server. All of them end with
	// the time that the API server gives the webhook, less a little. Default: none
	// of its own.
	// +optional
	RequestTimeout metav1.Duration `json:"requestTimeout,omitzero"`
}

// DrainCleanerConfiguration does what the Strimzi Drain Cleaner does: it asks the
// operator to roll the pod, and refuses the eviction.
type DrainCleanerConfiguration struct {
	// enabled turns it on. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// kafka acts on pods whose label strimzi.io/name ends in -kafka. The variable
	// STRIMZI_DRAIN_KAFKA goes before it. Default: true.
	// +optional
	Kafka *bool `json:"kafka,omitempty"`
	// zookeeper is the same for -zookeeper; its variable is
	// STRIMZI_DRAIN_ZOOKEEPER. Default: true.
	// +optional
	ZooKeeper *bool `json:"zookeeper,omitempty"`
	// denyEviction refuses the eviction with code 500. False is the legacy mode,
	// which relies on a PodDisruptionBudget with maxUnavailable 0. The variable
	// STRIMZI_DENY_EVICTION goes before it. Default: true.
	// +optional
	DenyEviction *bool `json:"denyEviction,omitempty"`
}

// FilterPlace says where a scope is held against an eviction.
//
// +kubebuilder:validation:Enum=Selector;Handler
type FilterPlace string

const (
	// FilterSelector is in the API server.
	FilterSelector FilterPlace = "Selector"
	// FilterHandler is in Holdfast.
	FilterHandler FilterPlace = "Handler"
)

// PodKnowledge says how Holdfast knows the pods.
//
// +kubebuilder:validation:Enum=Read;Cached
type PodKnowledge string

const (
	// PodsRead asks for each pod.
	PodsRead PodKnowledge = "Read"
	// PodsCached watches their metadata.
	PodsCached PodKnowledge = "Cached"
)

// ProtectedPodRule says what becomes of the eviction of a pod that is protected
// from deletion.
//
// +kubebuilder:validation:Enum=Allow;Refuse
type ProtectedPodRule string

const (
	// ProtectedPodsRefused refuses it with code 429.
	ProtectedPodsRefused ProtectedPodRule = "Refuse"
	// ProtectedPodsAllowed lets it pass.
	ProtectedPodsAllowed ProtectedPodRule = "Allow"
)
