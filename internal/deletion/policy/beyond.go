// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "k8s.io/apimachinery/pkg/runtime/schema"

// BeyondAdmission says whether the API server asks no policy and no webhook about
// objects of a kind. Nothing can protect them but RBAC.
func BeyondAdmission(r schema.GroupResource) bool {
	if r.Group != "admissionregistration.k8s.io" {
		return false
	}
	switch r.Resource {
	case "validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings":
		return true
	}
	return false
}

// CanBeUsed says whether a kind has a meaning of being in use, so that
// ProtectCascading protects objects of it.
func CanBeUsed(r schema.GroupResource) bool { return canBeUsed(r) }
