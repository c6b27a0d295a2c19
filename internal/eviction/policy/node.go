// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	corev1 "k8s.io/api/core/v1"
)

// drainTaints are on nodes that are being drained, by whom drains them.
var drainTaints = map[string]bool{
	corev1.TaintNodeUnschedulable:    true,
	"ToBeDeletedByClusterAutoscaler": true,
	"karpenter.sh/disrupted":         true,
	"karpenter.sh/disruption":        true, // before Karpenter 1.0
}

// drainInProgress is the condition of KEP-5683.
const drainInProgress corev1.NodeConditionType = "DrainInProgress"

// Draining says whether a node is being drained; nil stands for a node that is
// gone, and whose pods go too.
func Draining(n *corev1.Node) bool {
	if n == nil || n.DeletionTimestamp != nil || n.Spec.Unschedulable {
		return true
	}
	for i := range n.Spec.Taints {
		if drainTaints[n.Spec.Taints[i].Key] {
			return true
		}
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == drainInProgress && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
