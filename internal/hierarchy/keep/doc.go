// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keep brings the API server to what a World says should be: copies, the
// labels of namespaces, HierarchyConfigurations, anchors and their subnamespaces,
// and the status of the HNCConfiguration. Only the leader does.
//
// For each of them a pure function says what to write, if anything; nothing is
// written that is there already. What failed is tried again, later each time.
package keep
