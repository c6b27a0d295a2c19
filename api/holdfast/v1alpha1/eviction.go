// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// EvictingLabel is on a pod that an EvictionPolicy holds. Its value is the
	// policy's name. Nothing is decided by it; it lets Holdfast and people find what
	// waits.
	EvictingLabel = "holdfast.dev/evicting"

	// EvictionAskedAnnotation is on it as well, and holds an EvictionAsked in JSON.
	// The deadline of a policy counts by it.
	EvictionAskedAnnotation = "holdfast.dev/eviction-asked"

	// EvictionFieldManager is whom the writes of the eviction guard belong to.
	EvictionFieldManager = "holdfast-eviction"

	// EvictionResponder is what a pod lists in spec.evictionResponders so that its
	// EvictionPolicies also answer EvictionRequests. It is the key of a label on the
	// Evictions of such pods, too.
	EvictionResponder = "eviction.holdfast.dev/guard"
)

// EvictionAsked says when the eviction of a pod was asked for.
type EvictionAsked struct {
	// policy that holds the pod.
	Policy string `json:"policy"`
	// uid of the pod: an operator that copies annotations to the next pod does not
	// copy its deadline.
	UID types.UID `json:"uid"`
	// first is when the first of an unbroken row of evictions was asked for.
	First metav1.Time `json:"first"`
	// last is when an eviction was asked for last, to about a minute.
	Last metav1.Time `json:"last"`
}

const (
	// StrimziRollAnnotation asks Strimzi's operator to roll a pod, with
	// StrimziRollValue as its value.
	StrimziRollAnnotation = "strimzi.io/manual-rolling-update"
	// StrimziRollValue is the only value of it that the operator acts on.
	StrimziRollValue = "true"
)
