// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roller plays an operator that rolls pods, and the scheduler that it needs. Tests use it through
// the package nodes.
package roller
