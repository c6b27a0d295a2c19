// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status keeps the one Holdfast object, which says in what state
// Holdfast is on this cluster.
package status
