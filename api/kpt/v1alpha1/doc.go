// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group kpt.dev as Config Sync uses it: ResourceGroup, the
// inventory of a RootSync, of its name and in its namespace.
//
// +kubebuilder:object:generate=true
// +groupName=kpt.dev
package v1alpha1
