// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is Holdfast's own API group, holdfast.dev: the labels and
// annotations that people write on their objects, and the kinds that Holdfast
// serves.
//
// +kubebuilder:object:generate=true
// +groupName=holdfast.dev
package v1alpha1
