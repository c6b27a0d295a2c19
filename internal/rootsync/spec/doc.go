// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spec reads a RootSync: its settings with their defaults, or what is wrong with
// it in the words of Config Sync. What Holdfast does not build is wrong here, so that it
// is never taken for something else.
package spec
