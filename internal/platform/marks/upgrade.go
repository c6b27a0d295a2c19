// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// Before marks were bound to their objects there was one policy for each key, and MarkedLabel had the value
// v1alpha1.MarkSet. After an upgrade these policies, and those of the deletion guard, stay in force until the marks
// are bound: they protect by any mark and refuse that anybody else writes one, so no object is open meanwhile.

// UnboundPolicies are the policies of that time, to be left as they are.
func UnboundPolicies() []admission.Policy {
	out := make([]admission.Policy, 0, len(keys))
	for _, key := range keys {
		out = append(out, admission.Policy{Name: unboundPolicyName(key), Undecided: true})
	}
	return out
}

// UnboundPolicy is the name of one of them. While it is there, the upgrade is not done.
var UnboundPolicy = unboundPolicyName(v1alpha1.MarkedLabel)

func unboundPolicyName(key string) string { return "holdfast-mark-" + key[strings.Index(key, "/")+1:] }

// Unbound reports whether an object carries marks of that time.
func Unbound(o *metav1.PartialObjectMetadata) bool {
	return o.Labels[v1alpha1.MarkedLabel] == v1alpha1.MarkSet
}
