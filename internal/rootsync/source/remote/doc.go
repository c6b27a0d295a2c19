// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote has what all kinds of sources have in common: what is wanted of
// them, how much of it is taken, and the folder that it is written to.
package remote
