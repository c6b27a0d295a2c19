// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package together tests what the features are for one another: on one cluster with all
// of them on, what DESIGN.md says of where they meet, and in which words users see it.
package together
