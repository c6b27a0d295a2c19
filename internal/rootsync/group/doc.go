// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package group reads and writes the inventory of a RootSync: a ResourceGroup of
// kpt.dev with the name of the RootSync, as Config Sync keeps it.
package group
