// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// ProtectsPod says what would refuse to delete a pod, "" for nothing. It is for
// ways in which a pod goes that no policy sees, such as an eviction. The metadata
// is that of the pod's namespace and of the pod.
func ProtectsPod(c configv1alpha1.DeletionConfiguration, where scope.Scope, ns, pod *metav1.ObjectMeta) string {
	if c.Mode != configv1alpha1.ModeEnforce || ns.DeletionTimestamp != nil || !where.Matches(ns.Name, ns.Labels) {
		return ""
	}
	for _, f := range NewRules(c).Decide(Request{
		Operation: admissionv1.Delete,
		Resource:  corev1.Resource("pods"),
		Namespace: ns.Name,
		OldObject: &metav1.PartialObjectMetadata{ObjectMeta: *pod},
	}) {
		if !f.WarnOnly {
			return f.Message
		}
	}
	return ""
}
