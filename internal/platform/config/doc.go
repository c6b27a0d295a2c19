// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads, checks and keeps Holdfast's configuration.
//
// Loader turns the bytes of a file into a configuration that is right, or into
// an error that names every field that is not. Store keeps the last right one in
// force while the process runs; FileSource and MapSource bring it what changed, and
// Webhook tells people about a mistake while they still have the editor open.
package config
