// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package extension is a small API server of its own behind the aggregation layer of a cluster, as a
// metrics server or Karmada is. It is real in everything that a test may ask of it: storage, watches,
// field management, discovery, and users that the cluster authenticates and authorizes. It serves one
// kind in a group of the caller's choice, and runs the admission plugins of the generic API server or
// none at all.
package extension
