// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the API group configsync.gke.io, as Config Sync 1.25 writes and
// reads it: RootSync, its annotations, finalizers, conditions. What stands on a cluster
// stays valid, and tools that look at a RootSync find what they look for. The same
// schema is served as v1alpha1, which has no types of its own.
//
// A value that the schema lets through can always be decoded here, whatever it is: one
// RootSync that nobody can read would keep all others from being listed. Durations and
// quantities are therefore texts, and who reads them says which one is wrong.
//
// RepoSync has no type here: Holdfast installs no CRD for it.
//
// +kubebuilder:object:generate=true
// +groupName=configsync.gke.io
package v1beta1
