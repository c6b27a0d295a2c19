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
	// was refused and the last good one is in force, or while a variable in the
	// environment has a value that is not valid.
	ConditionConfigurationAccepted = "ConfigurationAccepted"

	// ConditionDefinitionsServed is false while the API server does not serve every kind of
	// holdfast.dev. It is there once Holdfast knows what is served.
	ConditionDefinitionsServed = "DefinitionsServed"

	// ConditionEvictionScopeServed is false while the guard for evictions cannot
	// serve a namespace in its scope.
	ConditionEvictionScopeServed = "EvictionScopeServed"

	// ConditionEvictionGuardAlone is false while a second guard for evictions is
	// installed, such as the Strimzi Drain Cleaner.
	ConditionEvictionGuardAlone = "EvictionGuardAlone"

	// ConditionHierarchyAlone is false while HNC is installed beside Holdfast's trees
	// of namespaces, and unknown until Holdfast has looked.
	ConditionHierarchyAlone = "HierarchyAlone"

	// ConditionHierarchyKnown is true while Holdfast knows the trees of namespaces. Its
	// reason says whether it keeps them or stands by.
	ConditionHierarchyKnown = "HierarchyKnown"

	// ConditionReady is true while all the others are.
	ConditionReady = "Ready"
)

// Condition reasons of the Holdfast object.
const (
	// ReasonAccepted says that the newest configuration is in force.
	ReasonAccepted = "Accepted"
	// ReasonAlone says that there is no second one of a kind that there can be one of.
	ReasonAlone = "Alone"
	// ReasonAnchorMissing says that the ClusterRole holdfast-anchor is not
	// there: Holdfast refuses nothing and restores nothing until it is made again.
	ReasonAnchorMissing = "AnchorMissing"
	// ReasonAPIError says that the API server refused or failed a write.
	ReasonAPIError = "APIError"
	// ReasonContested is for admission objects that another writer keeps changing, such as a
	// second Holdfast with another configuration.
	ReasonContested = "Contested"
	// ReasonExpired says that the serving certificate has expired.
	ReasonExpired = "Expired"
	// ReasonHNCLeftBehind says that webhook configurations of HNC are there, and
	// nobody answers for them.
	ReasonHNCLeftBehind = "HNCLeftBehind"
	// ReasonHNCRuns says that HNC runs, so that Holdfast stands by.
	ReasonHNCRuns = "HNCRuns"
	// ReasonInstalled says that everything declared is installed.
	ReasonInstalled = "Installed"
	// ReasonInvalidVariable says that a variable in the environment of the manager has a
	// value that is not valid.
	ReasonInvalidVariable = "InvalidVariable"
	// ReasonKept says that Holdfast keeps the trees of namespaces.
	ReasonKept = "Kept"
	// ReasonNamespaceMissing says that a scope lists a namespace that does not exist.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonNotPermitted says that Holdfast lacks rights.
	ReasonNotPermitted = "NotPermitted"
	// ReasonNotYetInstalled says that the manager has not got that far yet.
	ReasonNotYetInstalled = "NotYetInstalled"
	// ReasonNotYetChecked says that Holdfast has not been able to look yet.
	ReasonNotYetChecked = "NotYetChecked"
	// ReasonNotYetIssued says that there is no serving certificate yet.
	ReasonNotYetIssued = "NotYetIssued"
	// ReasonNotServed says that a CustomResourceDefinition of Holdfast is gone, or serves no version.
	ReasonNotServed = "NotServed"
	// ReasonReady says that nothing is wrong.
	ReasonReady = "Ready"
	// ReasonRefused says that the newest configuration is not valid.
	ReasonRefused = "Refused"
	// ReasonRestored is of the event that says that an admission object was put
	// back after somebody changed or deleted it.
	ReasonRestored = "Restored"
	// ReasonSecondGuard says that there is another guard for evictions.
	ReasonSecondGuard = "SecondGuard"
	// ReasonServed says that all of a scope is guarded, or that all kinds are served.
	ReasonServed = "Served"
	// ReasonStandsBy says that Holdfast follows the trees of namespaces and leaves them
	// to HNC, or to nobody.
	ReasonStandsBy = "StandsBy"
	// ReasonValid says that the serving certificate is valid.
	ReasonValid = "Valid"
	// ReasonWouldRefuse is of the event that says what mode Enforce would have
	// refused.
	ReasonWouldRefuse = "WouldRefuse"
)

// Condition reasons of ResourceDeletionProtections and EvictionPolicies.
const (
	// ReasonInForce says that an EvictionPolicy is in force.
	ReasonInForce = "InForce"
	// ReasonProtected says that all that is selected is protected.
	ReasonProtected = "Protected"
	// ReasonUnenforceable says that some of what is selected is not; the status
	// has the kinds.
	ReasonUnenforceable = "Unenforceable"
	// ReasonCounting says that not everything has been looked at yet.
	ReasonCounting = "Counting"
	// ReasonNotEnforced says that the guard, or the policy, refuses nothing.
	ReasonNotEnforced = "NotEnforced"
	// ReasonInvalid says that the object cannot be put into force.
	ReasonInvalid = "Invalid"
)

// ConditionServiceAccountsKept is the type of a condition of the Holdfast: whether
// service accounts can be kept. It is there while the feature is on.
const ConditionServiceAccountsKept = "ServiceAccountsKept"

// ReasonSecondWriter says that an operator runs beside Holdfast that writes the same
// objects, and to which Holdfast yields.
const ReasonSecondWriter = "SecondWriter"

// ConditionSourceServed is true while the API server serves the kind that a
// ServiceAccountTemplate is about.
const ConditionSourceServed = "SourceServed"

// Condition reasons of ServiceAccountTemplates, beside those of EvictionPolicies and
// ReasonServed.
const (
	// ReasonKindMissing says that the cluster does not have the kind, or not in that
	// version: Holdfast waits for it.
	ReasonKindMissing = "KindMissing"
	// ReasonKindClusterScoped says that objects of the kind have no namespace for an
	// account to be in.
	ReasonKindClusterScoped = "KindClusterScoped"
	// ReasonConflicts says that some accounts are not as they are to be because others
	// have their say.
	ReasonConflicts = "Conflicts"
	// ReasonErrors says that some accounts cannot be told from their objects.
	ReasonErrors = "Errors"
)

// ConditionPropagationComplete is the type of a condition of a Namespace: whether
// all that is copied into it from the namespaces above is there. It is written when
// a namespace gets a parent, and where a copy cannot be made. Its key is qualified
// because the object is not ours.
const ConditionPropagationComplete = GroupName + "/PropagationComplete"
