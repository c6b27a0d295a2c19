// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rootsync keeps a cluster as RootSyncs say: each brings what is declared in Git,
// or in an image, to the cluster, puts back what somebody changes, and takes away what
// is declared no longer. One process has all of them, so that they fetch a repository
// once, watch a kind once, and settle whose a namespace is before anybody writes.
package rootsync
