// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"

// Annotations of a RootSync that its author sets.
const (
	// AnnotationDeletionPropagation says what becomes of the managed objects when the
	// RootSync is deleted: DeletionForeground or DeletionOrphan. Without it they stay.
	AnnotationDeletionPropagation = GroupName + "/deletion-propagation-policy"
	// DeletionForeground deletes the managed objects before the RootSync goes.
	DeletionForeground = "Foreground"
	// DeletionOrphan leaves the managed objects, and takes Config Sync's metadata off them.
	DeletionOrphan = "Orphan"

	// AnnotationNamespaceStrategy is spec.override.namespaceStrategy as an annotation.
	// Where both are set they must say the same.
	AnnotationNamespaceStrategy = GroupName + "/namespace-strategy"

	// AnnotationSuspend with the value "true" stops a RootSync: nothing is fetched,
	// applied or put back until it is taken off, and nothing is deleted. Config Sync
	// does not know it.
	AnnotationSuspend = v1alpha1.GroupName + "/suspend"

	// AnnotationCommitStamp says when the annotations that name the commit are written
	// to the managed objects: CommitStampLagging or CommitStampExact. Config Sync does
	// not know it, and writes them as with CommitStampExact.
	AnnotationCommitStamp = v1alpha1.GroupName + "/commit-stamp"
	// CommitStampLagging writes them when the object is written for another reason, so
	// that a commit costs as many writes as it changes objects. It is the default.
	CommitStampLagging = "Lagging"
	// CommitStampExact writes them to all objects for each commit.
	CommitStampExact = "Exact"

	// AnnotationSyncNow starts a sync at once whenever its value changes; the value
	// itself means nothing. Config Sync does not know it.
	AnnotationSyncNow = v1alpha1.GroupName + "/sync-now"
	// AnnotationSyncNowDone is written by Holdfast when a sync has ended, well or not, that
	// began after AnnotationSyncNow had its value: with that value. So who has asked for
	// a sync knows when it was done, also where there was nothing to do.
	AnnotationSyncNowDone = v1alpha1.GroupName + "/sync-now-done"
)

// Metadata of a RootSync that Config Sync writes.
const (
	// FinalizerReconciler keeps a RootSync until its objects are deleted or let go.
	FinalizerReconciler = GroupName + "/reconciler"
	// FinalizerManager is of Config Sync alone. Holdfast takes it off a RootSync that
	// is deleted.
	FinalizerManager = GroupName + "/reconciler-manager"
	// LabelApplySetID is the value of the label "applyset.kubernetes.io/part-of" of the
	// managed objects, on their parent.
	LabelApplySetID = "applyset.kubernetes.io/id"
	// AnnotationApplySetTooling names, on a parent, what writes the managed objects.
	AnnotationApplySetTooling = "applyset.kubernetes.io/tooling"
	// ApplySetTooling is its value.
	ApplySetTooling = GroupName + "/v1"
	// AnnotationRequiresRendering is "true" where the source has a kustomization.
	AnnotationRequiresRendering = GroupName + "/requires-rendering"
	// AnnotationImageToSync is the image, with its digest, that a RootSync is at.
	AnnotationImageToSync = GroupName + "/image-to-sync"
)

// Namespace is the one of all RootSyncs, and DefaultRootSync the RootSync whose name is
// left out of the names that follow from it.
const (
	Namespace       = "config-management-system"
	DefaultRootSync = "root-sync"
)

// Labels of the accounts and bindings of RootSyncs.
const (
	// LabelSyncKind is SyncKindRootSync.
	LabelSyncKind    = GroupName + "/sync-kind"
	SyncKindRootSync = "RootSync"
	// LabelSyncNamespace and LabelSyncName name the RootSync, where one alone has the object.
	LabelSyncNamespace = GroupName + "/sync-namespace"
	LabelSyncName      = GroupName + "/sync-name"
)

// Metadata of what a RootSync manages.
const (
	// AnnotationManaged is ManagedEnabled on what is managed; its author sets
	// ManagedDisabled on what is not to be.
	AnnotationManaged = "configmanagement.gke.io/managed"
	ManagedEnabled    = "enabled"
	ManagedDisabled   = "disabled"
	// AnnotationManager names the reconciler: ManagerRoot for DefaultRootSync, that and
	// "_" and the name for another RootSync, and something else for a RepoSync.
	AnnotationManager = GroupName + "/manager"
	ManagerRoot       = ":root"
	// AnnotationResourceID names the object itself, and so tells it from one that has
	// inherited its annotations.
	AnnotationResourceID = GroupName + "/resource-id"
	// AnnotationSourcePath is the file that declares it; an implicit namespace has none.
	AnnotationSourcePath = "configmanagement.gke.io/source-path"
	// LabelDeclaredVersion is the version of the API in which it is declared.
	LabelDeclaredVersion = GroupName + "/declared-version"
)

// Keys of the Secrets that a RootSync refers to.
const (
	// SecretSSH is a private key, for auth ssh.
	SecretSSH = "ssh"
	// SecretKnownHosts are the host keys to trust, for auth ssh. May be missing.
	SecretKnownHosts = "known_hosts"
	// SecretUsername is the name of the user, for auth token.
	SecretUsername = "username"
	// SecretToken is the token, for auth token of Git.
	SecretToken = "token"
	// SecretPassword is the password, for auth token of an image registry.
	SecretPassword = "password"
	// SecretProxy is the URL of a proxy that must not stand in spec.git.proxy. May be
	// missing.
	SecretProxy = "https_proxy"
	// SecretCA is a certificate authority, in the Secret of caCertSecretRef.
	SecretCA = "cert"
)
