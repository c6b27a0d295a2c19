// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features is Holdfast's own set of feature gates: which of them there
// are, how mature each is in which release, and which are on.
//
// A gate is alpha and off, then beta and on, then generally available and locked
// on. It is set in the configuration file and, before that, by --feature-gates.
package features
