// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package propagate decides what is copied where, and what a copy looks like.
//
// A source is an object of a propagated kind that is no copy itself. Sources is
// all of them, as a snapshot that never changes, by kind and name and by
// namespace. Decide says what should become of one copy. When a source changes,
// the copies to decide on are those in the descendants of its namespace; when a
// namespace moves, those that Into names. Neither looks at other sources.
package propagate
