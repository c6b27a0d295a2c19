// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds applies the CustomResourceDefinitions that the manager brings: Helm
// upgrades none, and what a release owns goes with it. It writes the schema, by
// server-side apply under a name of its own, also over those that another project left.
// It never deletes one, and never puts an older schema in the place of a newer.
package crds
