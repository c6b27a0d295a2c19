// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the API group hnc.x-k8s.io of the Hierarchical Namespace
// Controller, as version 1.1 of it wrote and read it: kinds, names, labels,
// annotations, finalizers, conditions. What stands on a cluster stays valid, so
// nothing here may be stricter or looser than it was. In particular no kind has
// a status subresource: spec and status are written together.
//
// HierarchicalResourceQuota has no type here. Quotas of a tree are not enforced
// yet, so Holdfast installs no CRD for them, which makes the API server refuse
// them; where HNC has left its CRD, a policy refuses them by the name of the
// resource, and a take-over looks for them by their metadata. Neither needs
// their fields.
//
// +kubebuilder:object:generate=true
// +groupName=hnc.x-k8s.io
package v1alpha2
