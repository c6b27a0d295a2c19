// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// first are kinds that others often need without saying so, in the order in which they
// begin. What checks the writes of others comes last.
var first = []string{
	"Namespace", "ResourceQuota", "LimitRange", "StorageClass", "CustomResourceDefinition", "PriorityClass",
	"ServiceAccount", "Secret", "ConfigMap", "PersistentVolume", "PersistentVolumeClaim",
	"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service",
}

var last = []string{"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"}

// Order sorts objects in the order in which they begin, where none has to wait for
// another. In the reverse order they go.
func Order(ids []object.ID) []object.ID {
	out := slices.Clone(ids)
	slices.SortFunc(out, func(a, b object.ID) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Compare(b)) })
	return out
}

func rank(id object.ID) int {
	if i := slices.Index(first, id.Kind); i >= 0 {
		return i
	}
	if i := slices.Index(last, id.Kind); i >= 0 {
		return len(first) + 1 + i
	}
	return len(first)
}
