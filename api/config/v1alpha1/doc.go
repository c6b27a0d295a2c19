// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the kind of Holdfast's configuration file,
// config.holdfast.dev/v1alpha1 HoldfastConfiguration. It is never served by an
// API server; the manager reads it from a file or a ConfigMap.
//
// +kubebuilder:object:generate=true
// +groupName=config.holdfast.dev
package v1alpha1
