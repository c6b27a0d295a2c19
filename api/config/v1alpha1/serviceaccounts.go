// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ServiceAccountsConfiguration is the labels and annotations of service accounts that
// belong to objects of other kinds, as ServiceAccountTemplates say.
type ServiceAccountsConfiguration struct {
	// mode is Off, Report or Enforce. Report says what would be written, and writes
	// nothing but the status of ServiceAccountTemplates and Events. Default: Off.
	// +optional
	Mode ServiceAccountsMode `json:"mode,omitempty"`

	// existing says how an account is written that is there already: Apply, what its
	// template says and no more; or Replace, by which everything else goes from it but
	// its secrets and imagePullSecrets, as the feature gate of Strimzi was when it was
	// new. Default: Apply.
	// +optional
	Existing ExistingAccounts `json:"existing,omitempty"`

	// identities says which accounts that were there before get keys that change what the
	// pods of the account may do: those of the identities of EKS, GKE, Azure and Alibaba
	// Cloud, of OAuth clients of OpenShift, and kubernetes.io/enforce-mountable-secrets. Owned:
	// only those that the object owns. All: those that nobody owns too, so that whoever may
	// write the object decides about an account that somebody made by hand. Default: Owned.
	// +optional
	Identities AccountIdentities `json:"identities,omitempty"`

	// scope narrows the global scope for this feature.
	// +optional
	Scope Scope `json:"scope,omitzero"`

	// strimzi is about the built-in templates for the kinds of Strimzi.
	// +optional
	Strimzi StrimziAccountsConfiguration `json:"strimzi,omitzero"`
}

// ServiceAccountsMode says what Holdfast does about service accounts.
//
// +kubebuilder:validation:Enum=Off;Report;Enforce
type ServiceAccountsMode string

const (
	// ServiceAccountsOff does nothing.
	ServiceAccountsOff ServiceAccountsMode = "Off"
	// ServiceAccountsReport says what would be written.
	ServiceAccountsReport ServiceAccountsMode = "Report"
	// ServiceAccountsEnforce writes it.
	ServiceAccountsEnforce ServiceAccountsMode = "Enforce"
)

// ExistingAccounts says how an account is written that is there already.
//
// +kubebuilder:validation:Enum=Apply;Replace
type ExistingAccounts string

const (
	// ExistingApply writes what its template says and no more.
	ExistingApply ExistingAccounts = "Apply"
	// ExistingReplace takes everything else off it.
	ExistingReplace ExistingAccounts = "Replace"
)

// AccountIdentities says which accounts get keys that change what their pods may do.
//
// +kubebuilder:validation:Enum=Owned;All
type AccountIdentities string

const (
	// IdentitiesOwned are accounts that the object owns.
	IdentitiesOwned AccountIdentities = "Owned"
	// IdentitiesAll are those that no object owns too.
	IdentitiesAll AccountIdentities = "All"
)

// StrimziAccountsConfiguration is about the built-in templates for the kinds of
// Strimzi.
type StrimziAccountsConfiguration struct {
	// labelsExclusionPattern is a regular expression, with look-ahead if need be, for
	// whole keys: such labels of an object are not on its accounts. Empty: all are. The
	// environment variable STRIMZI_LABELS_EXCLUSION_PATTERN goes before it. Default:
	// (^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*).
	// +optional
	LabelsExclusionPattern *string `json:"labelsExclusionPattern,omitempty"`
}

// DefaultLabelsExclusionPattern is that of Strimzi.
const DefaultLabelsExclusionPattern = `(^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*)`
