// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says in what order the objects of a RootSync are applied and go, and
// which commits are refused as a whole.
package plan
