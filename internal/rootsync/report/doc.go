// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes the status of a RootSync from what is known of it, in the form in
// which tools for Config Sync read it. What is known and has not changed gives the status
// that is there already, times included, so that there is nothing to write.
package report
