// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of the Holdfast object.
const (
	// ConditionAdmissionInstalled is true while every policy, binding and
	// webhook that the configuration asks for is in the API server, as written.
	ConditionAdmissionInstalled = "AdmissionInstalled"

	// ConditionCertificateValid is true while the serving certificate of the
	// webhooks is valid now and for the names under which they are called.
	ConditionCertificateValid = "CertificateValid"

	// ConditionConfigurationAccepted is false while the newest configuration
	// was refused and the last good one is in force.
	ConditionConfigurationAccepted = "ConfigurationAccepted"

	// ConditionReady is true while all the others are.
	ConditionReady = "Ready"
)

// Condition reasons of the Holdfast object.
const (
	// ReasonAccepted says that the newest configuration is in force.
	ReasonAccepted = "Accepted"
	// ReasonAnchorMissing says that the ClusterRole holdfast-anchor is not
	// there: Holdfast refuses nothing and restores nothing until it is made again.
	ReasonAnchorMissing = "AnchorMissing"
	// ReasonAPIError says that the API server refused or failed a write.
	ReasonAPIError = "APIError"
	// ReasonExpired says that the serving certificate has expired.
	ReasonExpired = "Expired"
	// ReasonInstalled says that everything declared is installed.
	ReasonInstalled = "Installed"
	// ReasonNotYetInstalled says that the manager has not got that far yet.
	ReasonNotYetInstalled = "NotYetInstalled"
	// ReasonNotYetIssued says that there is no serving certificate yet.
	ReasonNotYetIssued = "NotYetIssued"
	// ReasonReady says that nothing is wrong.
	ReasonReady = "Ready"
	// ReasonRefused says that the newest configuration is not valid.
	ReasonRefused = "Refused"
	// ReasonRestored is of the event that says that an admission object was put
	// back after somebody changed or deleted it.
	ReasonRestored = "Restored"
	// ReasonValid says that the serving certificate is valid.
	ReasonValid = "Valid"
)

// Condition reasons of a ResourceDeletionProtection.
const (
	// ReasonProtected says that all that is selected is protected.
	ReasonProtected = "Protected"
	// ReasonUnenforceable says that some of what is selected is not; the status
	// has the kinds.
	ReasonUnenforceable = "Unenforceable"
	// ReasonCounting says that not everything has been looked at yet.
	ReasonCounting = "Counting"
	// ReasonNotEnforced says that the deletion guard refuses nothing.
	ReasonNotEnforced = "NotEnforced"
	// ReasonInvalid says that the protection cannot be put into force.
	ReasonInvalid = "Invalid"
)
