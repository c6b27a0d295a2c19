// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nested builds the programs that tests run and that are modules of their own in this checkout,
// because of what they depend on. Each is built once and kept in a cache outside the work tree, under a
// key of its source.
package nested
