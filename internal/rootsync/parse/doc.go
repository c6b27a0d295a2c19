// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parse makes objects of the files of a source, and says what is wrong with
// them in the numbers of Config Sync. It is pure: what it says depends on the files and
// the scopes alone, and not on their order.
//
// An error blocks: of a commit that has one nothing is applied, and what was applied of
// the one before stays in force. The one exception is a kind that nobody serves: its
// objects are withheld and the others go on.
package parse
