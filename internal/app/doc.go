// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app puts the process together: options, configuration, certificates,
// the manager, and the list of features. Nothing else knows all features.
package app
