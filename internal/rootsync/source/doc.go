// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source follows Git repositories and images for all RootSyncs of the process:
// one look at the server for each repository and each credentials and period, whatever
// the number of RootSyncs and branches, and one folder for each commit that is in use.
//
// A server that cannot be reached is asked again after a second, then after twice as
// long each time, up to a minute. The last files that were good are kept and given out
// meanwhile, together with the error.
package source
