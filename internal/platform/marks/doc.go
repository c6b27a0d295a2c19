// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package marks writes on objects what a policy cannot look up: a mark is a label that policies decide by, and an
// annotation of the same key that explains it to people. Policies of this package refuse that others write marks.
package marks
