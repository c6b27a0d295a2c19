// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package object names what a RootSync declares and writes on it whose it is: the
// labels and annotations of Config Sync, by which its tools and Config Sync itself
// know a managed object.
package object
