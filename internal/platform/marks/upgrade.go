// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// Older versions of Holdfast did not bind marks to objects: MarkedLabel had the value v1alpha1.MarkSet, and one policy
// for each key refused every write of a mark by others. After an upgrade, those policies and the deletion guard's stay
// in force until the Marker has bound all marks. They ignore the UID, so every object stays protected meanwhile.

// UnboundPolicies returns the mark policies of older versions, as undecided: to be kept as they are.
func UnboundPolicies() []admission.Policy {
	out := make([]admission.Policy, 0, len(keys))
	for _, key := range keys {
		out = append(out, admission.Policy{Name: unboundPolicyName(key), Undecided: true})
	}
	return out
}

// UnboundPolicy is the name of one of UnboundPolicies. The upgrade is done when it is deleted.
var UnboundPolicy = unboundPolicyName(v1alpha1.MarkedLabel)

func unboundPolicyName(key string) string { return "holdfast-mark-" + key[strings.Index(key, "/")+1:] }

// Unbound reports whether an object carries marks that an older version wrote.
func Unbound(o *metav1.PartialObjectMetadata) bool {
	return o.Labels[v1alpha1.MarkedLabel] == v1alpha1.MarkSet
}
