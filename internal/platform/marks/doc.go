// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package marks writes down on objects what a policy cannot look up: a mark is a
// label that policies decide by, and an annotation of the same key that says
// more to people. Nobody but Holdfast may write one; a policy sees to that.
package marks
