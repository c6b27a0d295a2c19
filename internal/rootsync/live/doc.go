// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live says what is known of an object that is there, without its content: by
// the shared watch, or by the answer to a write. Both make it in the same way, so that
// the one can be compared with the other.
package live
