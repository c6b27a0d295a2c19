// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// DeletionProtectedLabel protects the object that carries it from deletion.
	// It is the strict one of the three labels that Holdfast reads: taking it
	// away needs UnprotectVerb, and a value that Holdfast does not know
	// protects as ProtectAlways does. An empty value does not protect.
	DeletionProtectedLabel = "holdfast.dev/deletion-protected"

	// KarmadaDeletionProtectedLabel is the label of seed 001 and of Karmada.
	// Only the exact value ProtectAlways protects, as upstream.
	KarmadaDeletionProtectedLabel = "resourcetemplate.karmada.io/deletion-protected"

	// KruiseDeletionProtectionLabel is the label of OpenKruise. Only the exact
	// value ProtectAlways protects.
	KruiseDeletionProtectionLabel = "policy.kruise.io/delete-protection"

	// ProtectAlways is the label value that refuses every deletion.
	ProtectAlways = "Always"
)

const (
	// UnprotectVerb is the RBAC verb, on UnprotectResource in the group
	// GroupName, that lets a user take protection away. It is asked in the
	// namespace of the object, and cluster-wide for Namespaces and
	// cluster-scoped objects.
	UnprotectVerb = "unprotect"

	// UnprotectResource is the resource that UnprotectVerb is granted on.
	UnprotectResource = "resourcedeletionprotections"
)
