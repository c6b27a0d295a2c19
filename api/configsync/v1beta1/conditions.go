// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// ConditionType is the type of a condition of a RootSync.
type ConditionType string

// Condition types.
const (
	// ConditionReconciling is true while the RootSync is set up or torn down.
	ConditionReconciling ConditionType = "Reconciling"
	// ConditionStalled is true while nothing goes on until somebody mends what its
	// message says.
	ConditionStalled ConditionType = "Stalled"
	// ConditionSyncing is true while a commit is fetched, rendered or applied, and false
	// when that has ended, with or without errors.
	ConditionSyncing ConditionType = "Syncing"
	// ConditionFinalizing is true while the managed objects of a RootSync that is
	// deleted go.
	ConditionFinalizing ConditionType = "ReconcilerFinalizing"
	// ConditionFinalizerFailure is true while they cannot go.
	ConditionFinalizerFailure ConditionType = "ReconcilerFinalizerFailure"
	// ConditionNamespacesReady is false while namespaces do not exist that the source
	// uses and does not declare. Config Sync does not know it.
	ConditionNamespacesReady ConditionType = "NamespacesReady"
	// ConditionNamespacesContested is true while another RootSync declares a namespace
	// that this one declares and has. Config Sync does not know it.
	ConditionNamespacesContested ConditionType = "NamespacesContested"
	// ConditionSuspended is true while the RootSync is suspended. Config Sync does not
	// know it.
	ConditionSuspended ConditionType = "Suspended"
)

// Condition reasons.
const (
	// ReasonSetup says that what the RootSync needs is being made.
	ReasonSetup = "Setup"
	// ReasonTeardown says that the RootSync is deleted.
	ReasonTeardown = "Teardown"
	// ReasonValidation says that the RootSync is wrong.
	ReasonValidation = "Validation"
	// ReasonError says that something else went wrong.
	ReasonError = "Error"
	// ReasonSource says that the commit is fetched and read.
	ReasonSource = "Source"
	// ReasonRendering says that the commit is rendered.
	ReasonRendering = "Rendering"
	// ReasonSync says that the objects of the commit are applied.
	ReasonSync = "Sync"
	// ReasonResourcesDeleting says that the managed objects go.
	ReasonResourcesDeleting = "ResourcesDeleting"
	// ReasonDestroyFailure says that some of them cannot go.
	ReasonDestroyFailure = "DestroyFailure"
	// ReasonNamespaceMissing says that namespaces do not exist.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonNamespacesExist says that those that were missing exist.
	ReasonNamespacesExist = "NamespacesExist"
	// ReasonDeclaredTwice says that another RootSync declares a namespace as well.
	ReasonDeclaredTwice = "DeclaredTwice"
	// ReasonNamespaceInTree says that the namespace of RootSyncs is below another one in a tree of namespaces.
	ReasonNamespaceInTree = "NamespaceInTree"
	// ReasonSuspended says that the annotation holdfast.dev/suspend is set.
	ReasonSuspended = "SuspendedByAnnotation"
)

// Messages of status.rendering and of the condition Syncing.
const (
	MessageRendering        = "Rendering is still in progress"
	MessageRenderingDone    = "Rendering succeeded"
	MessageRenderingFailed  = "Rendering failed"
	MessageRenderingSkipped = "Rendering skipped"
	MessageSource           = "Source"
	MessageSyncing          = "Syncing"
	MessageSynced           = "Sync Completed"
)

// Messages of the conditions while a RootSync is deleted.
const (
	MessageDeleting     = "Deleting managed resource objects"
	MessageDeleteFailed = "Failed to delete managed resource objects"
)

// ErrorSource is a part of the status with errors that a condition counts.
type ErrorSource string

// The parts of the status that have errors.
const (
	// SourceErrors are in status.source.
	SourceErrors ErrorSource = "status.source.errors"
	// RenderingErrors are in status.rendering.
	RenderingErrors ErrorSource = "status.rendering.errors"
	// SyncErrors are in status.sync.
	SyncErrors ErrorSource = "status.sync.errors"
)
