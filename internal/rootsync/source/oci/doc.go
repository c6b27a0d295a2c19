// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oci reads images from registries: the digest of a tag by a HEAD request, the
// files from all layers, in their order.
package oci
